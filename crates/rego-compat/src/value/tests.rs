//! Values read, written, ordered and put together.

use super::*;

fn read(text: &str) -> Value {
    Value::from_json_str(text).unwrap()
}

#[test]
fn a_document_comes_out_as_it_went_in() {
    for text in ["null", "[true,false]", r#"{"a":[1.0,-0,1e3,1E400],"b":{"c":"\u0001\n\"\\é"}}"#, "[]", "{}"]
    {
        assert_eq!(read(text).to_json_str(), text);
    }
    assert_eq!(read(" [ 1 , 2 ] \n"), read("[1,2]"));
}

#[test]
fn escapes_are_read_as_go_reads_them() {
    assert_eq!(read(r#""\u00e9\/\ud83d\ude00""#), Value::from("é/\u{1F600}"));
    assert_eq!(read(r#""\ud800x\udc00\ud800\u0041""#), Value::from("\u{fffd}x\u{fffd}\u{fffd}A"));
}

#[test]
fn what_is_no_json_is_refused() {
    let bad = [
        "",
        "[1,]",
        "{\"a\" 1}",
        "{a:1}",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "nul",
        "\"\n\"",
        "\"\\x\"",
        "\"",
        "[1 2]",
        "1 2",
        "1e999999",
        "\"\\u12\"",
        "-",
    ];
    for text in bad {
        assert!(matches!(Value::from_json_str(text), Err(ValueError::Json { .. })), "{text}");
    }
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(Value::from_json_str(&nested(512)).is_ok());
    assert!(Value::from_json_str(&nested(513)).is_err());
    assert!(Value::from_json_str(&"[".repeat(1 << 20)).is_err());
}

#[test]
fn the_last_of_equal_keys_counts() {
    assert_eq!(read(r#"{"b":1,"a":1,"b":2,"b":3}"#), read(r#"{"a":1,"b":3}"#));
}

#[test]
fn types_come_in_their_order() {
    let set = Value::from(BTreeSet::from([Value::Null]));
    let mut values = [set, read("{}"), read("[]"), "".into(), 0.into(), false.into(), Value::Null];
    values.sort();
    let names: Vec<_> = values.iter().map(Value::type_name).collect();
    assert_eq!(names, ["null", "boolean", "number", "string", "array", "object", "set"]);
    assert!(read(r#"{"a":2}"#) < read(r#"{"b":1}"#));
    assert!(read(r#"{"a":1}"#) < read(r#"{"a":1,"b":0}"#));
    assert!(read("[1,2]") < read("[1,2,0]"));
}

#[test]
fn many_keys_in_disorder_are_found_again() {
    let mut object = Object::new();
    let keys = || (0_u32..2000).map(|number| Value::from(number.wrapping_mul(7919) % 2003));
    for key in keys() {
        assert_eq!(object.insert(key.clone(), key.clone()), None);
    }
    assert!(keys().all(|key| object.get(&key) == Some(&key)));
    let pairs: Vec<(Value, Value)> = keys().map(|key| (key.clone(), key)).collect();
    assert_eq!(object.clone().into_value(), Object::of(pairs).into_value());
    assert_eq!(object.remove(&Value::from(5)), Some(Value::from(5)));
    assert!(!object.contains_key(&Value::from(5)));
    assert!(object.keys().is_sorted());
}

#[test]
fn of_equal_elements_the_first_stays() {
    let set: Set = [Value::from(1), read("1.0"), read("2")].into_iter().collect();
    assert_eq!(set.clone().into_value().to_json_str(), "[1,2]");
    assert!(set.contains(&read("1.00")));
    let other: Set = [read("2.0"), read("3")].into_iter().collect();
    assert_eq!(set.union(&other).into_value().to_json_str(), "[1,2,3]");
    assert_eq!(set.intersection(&other).into_value().to_json_str(), "[2]");
    assert_eq!(set.difference(&other).into_value().to_json_str(), "[1]");
    assert!(set.intersection(&other).is_subset(&set));
}

#[test]
fn serde_sees_a_value_as_json() {
    let value = read(r#"{"a":[1,18446744073709551615,0.5,null,"x"]}"#);
    let json = serde_json::to_value(&value).unwrap();
    assert_eq!(json, serde_json::json!({"a": [1, u64::MAX, 0.5, null, "x"]}));
    assert_eq!(Value::from(json.clone()), value);
    assert_eq!(serde_json::from_value::<Value>(json).unwrap(), value);
    assert!(serde_json::to_value(read("1e400")).is_err());
}
