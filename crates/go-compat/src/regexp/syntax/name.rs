//! The Unicode classes that Go knows by name.
//!
//! Since Go 1.25 names are compared without case, underscores, spaces and dashes, and as a side effect scripts whose own
//! name has an underscore (`Old_Italic`) are not found at all. Programs in Go inherit both.

const CATEGORIES: &str = "C Cc Cf Cn Co Cs L Lc Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z \
    Zl Zp Zs Any Assigned Ascii";

const SCRIPTS: &str = "Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi Braille \
    Buginese Buhid Carian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari \
    Dogra Duployan Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han Hangul \
    Hanunoo Hatran Hebrew Hiragana Inherited Javanese Kaithi Kannada Katakana Kawi Kharoshthi Khmer Khojki Khudawadi Lao \
    Latin Lepcha Limbu Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Medefaidrin Miao Modi \
    Mongolian Mro Multani Myanmar Nabataean Nandinagari Newa Nko Nushu Ogham Oriya Osage Osmanya Palmyrene Phoenician \
    Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham Sinhala Sogdian Soyombo Sundanese Syriac Tagalog Tagbanwa \
    Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Yezidi Yi";

const ALIASES: &str = "Casedletter Closepunctuation Combiningmark Connectorpunctuation Control Currencysymbol \
    Dashpunctuation Decimalnumber Enclosingmark Finalpunctuation Format Initialpunctuation Letter Letternumber \
    Lineseparator Lowercaseletter Mark Mathsymbol Modifierletter Modifiersymbol Nonspacingmark Number Openpunctuation \
    Other Otherletter Othernumber Otherpunctuation Othersymbol Paragraphseparator Privateuse Punctuation Separator \
    Spaceseparator Spacingmark Surrogate Symbol Titlecaseletter Unassigned Uppercaseletter Cntrl Digit Punct";

/// The name as Go compares it, if Go knows it.
pub(super) fn canonical(name: &str) -> Option<String> {
    let mut canonical = String::with_capacity(name.len());
    for c in name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')) {
        canonical.push(if canonical.is_empty() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() });
    }
    let known = [CATEGORIES, SCRIPTS, ALIASES]
        .into_iter()
        .flat_map(str::split_whitespace)
        .any(|name| name == canonical);
    known.then_some(canonical)
}
