//! Policies written to hang, exhaust or crash the process that evaluates them, each with a name.
//!
//! The test beside this file says what has to become of them; the example `hostile` measures how long it takes.

/// The required outcome of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Parsing or compiling refuses it.
    Refused,
    /// It compiles, and its evaluation ends with an error of the budget.
    Stopped,
    /// It looks worse than it is: it has to be answered.
    Answered,
    /// Refused, stopped or answered, as the bounds have it; it has to end.
    Ends,
}

/// One hostile policy. The rule asked for is `data.t.p`.
#[derive(Debug)]
pub struct Hostile {
    pub name: &'static str,
    pub fate: Fate,
    pub text: String,
}

/// All of them.
pub fn all() -> Vec<Hostile> {
    let mut all = Vec::new();
    all.extend(recursive());
    all.extend(nested());
    all.extend(long());
    all.extend(tangled());
    all.extend(looping());
    all.extend(growing());
    all.extend(matching());
    all.extend(builtins());
    all.extend(languages());
    all
}

fn body(name: &'static str, fate: Fate, text: impl Into<String>) -> Hostile {
    Hostile { name, fate, text: format!("package t\n{}", text.into()) }
}

fn raw(name: &'static str, fate: Fate, text: impl Into<String>) -> Hostile {
    Hostile { name, fate, text: text.into() }
}

/// `count` pieces of text, each made from its number.
fn series(count: usize, piece: impl Fn(usize) -> String) -> String {
    (0..count).map(piece).collect()
}

/// A body of assignments, each made from the variable before it, whose last variable is the rule's value.
fn chain(first: &str, count: usize, step: impl Fn(&str) -> String) -> String {
    let steps = series(count, |n| format!("x{} := {}\n", n + 1, step(&format!("x{n}"))));
    format!("p = x {{\nx0 := {first}\n{steps}x := x{count}\n}}")
}

/// Every way a rule can need its own value.
fn recursive() -> Vec<Hostile> {
    use Fate::Refused;
    let ring = series(3_000, |n| format!("r{n} {{ r{} }}\n", (n + 1) % 3_000));
    let web = series(200, |n| format!("w{n} {{ {} }}\n", series(200, |m| format!("w{m}; ")) + "true"));
    vec![
        body("a rule that is itself", Refused, "p { p }"),
        body("a rule that is not itself", Refused, "p { not p }"),
        body("two rules that are each other", Refused, "p { q }\nq { p }"),
        body("a function that calls itself", Refused, "p { f(1) }\nf(x) = y { y := f(x + 1) }"),
        body("functions that call each other", Refused, "p { f(1) }\nf(x) { g(x) }\ng(x) { f(x) }"),
        body("a set of its own elements", Refused, "p[x] { p[y]; x := y + 1 }"),
        body("an object of its own values", Refused, "p[k] = v { v := p[k] }"),
        body("recursion through a comprehension", Refused, "p = [x | x := q[_]]\nq = {x | x := p[_]}"),
        body("recursion through an object comprehension", Refused, "p = {k: v | v := p[k]}"),
        body("recursion through with", Refused, "p { q with input as 1 }\nq { p with input as 2 }"),
        body("recursion through the value of with", Refused, "p { q with input as p }\nq { input }"),
        body(
            "recursion through a stand-in",
            Refused,
            "p { count([1]) == 1 with count as f }\nf(x) = y { y := 1; p; x }",
        ),
        body("recursion through every", Refused, "import future.keywords\np if { every x in [1] { x; p } }"),
        body("recursion through else", Refused, "p { false } else { p }"),
        body(
            "recursion through default arguments",
            Refused,
            "default f(_) = 1\nf(x) = y { y := f(x) }\np { f(1) }",
        ),
        body("recursion through data", Refused, "p { data.t.p }"),
        body("recursion through all of data", Refused, "p { data[x] }"),
        body("recursion through a package", Refused, "p { x := data.t; x.q }\nq = 1"),
        body("recursion through a computed name", Refused, "p { data.t[x]; x = \"p\" }"),
        body("recursion through a nested rule", Refused, "p = a.b\na.b = 1 { data.t.a }"),
        body("a ring of rules", Refused, ring),
        body("a web of rules", Refused, web),
    ]
}

/// Things inside things.
fn nested() -> Vec<Hostile> {
    use Fate::{Answered, Ends, Refused};
    let within = |open: &str, close: &str, levels: usize| {
        format!("p = x {{ x := {}1{} }}", open.repeat(levels), close.repeat(levels))
    };
    vec![
        body("20 arrays in one another", Answered, within("[", "]", 20)),
        body("20 objects in one another", Answered, within("{\"a\": ", "}", 20)),
        body("20 sets in one another", Answered, within("{", "}", 20)),
        body(
            "20 arrays of variables",
            Answered,
            format!("p = x {{ y := 1; x := {}y{} }}", "[".repeat(20), "]".repeat(20)),
        ),
        body("20 comprehensions in one another", Answered, within("[y | y := ", "]", 20)),
        body("20 calls in one another", Answered, within("abs(", ")", 20)),
        body("200 arrays in one another", Refused, within("[", "]", 200)),
        body("200 objects in one another", Refused, within("{\"a\": ", "}", 200)),
        body("200 comprehensions in one another", Refused, within("[y | y := ", "]", 200)),
        body("200 parentheses in one another", Refused, within("(", ")", 200)),
        body(
            "20 comprehensions that could be unions",
            Answered,
            format!("p = x {{ x := {}{{1}}{} }}", "{y | y := ".repeat(20), "}".repeat(20)),
        ),
        body("20 sets of different elements in one another", Ends, sets("1", "\"a\"", 40)),
        body("20 sets of equal elements in one another", Ends, sets("1", "1", 40)),
        body(
            "20 every in one another",
            Answered,
            format!(
                "import future.keywords\np if {{ {}true{} }}",
                "every x in [1] { x; ".repeat(20),
                " }".repeat(20)
            ),
        ),
        body(
            "20 braces before or",
            Ends,
            format!("import future.keywords\np if {{ {}true{} }}", "{ ".repeat(20), " } or false".repeat(20)),
        ),
        body(
            "60 braces before or",
            Ends,
            format!("import future.keywords\np if {{ {}true{} }}", "{ ".repeat(60), " } or false".repeat(60)),
        ),
        body(
            "60 parentheses before or",
            Ends,
            format!("import future.keywords\np if {{ {}true{} }}", "(".repeat(60), " or false)".repeat(60)),
        ),
        raw("a mebibyte of [", Refused, "[".repeat(1 << 20)),
        body("many [", Refused, format!("p = {}", "[\n".repeat(500_000))),
        body("many {", Refused, format!("p = {}", "{\n".repeat(500_000))),
        body("many (", Refused, format!("p = {}", "(\n".repeat(500_000))),
        body("many not", Refused, format!("p {{ {} }}", "not\n".repeat(250_000))),
        body("many -", Refused, format!("p = {}1", "-\n".repeat(500_000))),
        body("many unions", Refused, format!("p = {{1}}{}", "|{1}\n".repeat(200_000))),
        body("many sums", Refused, format!("p = 1{}", "+1\n".repeat(300_000))),
        body("many calls of calls", Refused, format!("p = f{}", "()\n".repeat(300_000))),
        body("many templates", Refused, format!("p = {}", "$\"{\n".repeat(200_000))),
        body("many comprehensions", Refused, format!("p = {}", "[x |\n".repeat(200_000))),
        body(
            "many every",
            Refused,
            format!("import future.keywords\np if {{ {}", "every x in y {\n".repeat(60_000)),
        ),
        body(
            "many else",
            Ends,
            format!("p = 0 {{ false }} {}", series(20_000, |n| format!("else = {n} {{ false }}\n"))),
        ),
        body("many some", Ends, format!("p {{ {} true }}", series(20_000, |n| format!("some v{n}\n")))),
    ]
}

/// Equality of two towers of sets that differ in one kind of element on every level.
fn sets(left: &str, right: &str, levels: usize) -> String {
    let tower = |leaf: &str| format!("{}{leaf}{}", "{".repeat(levels), format!(", {leaf}}}").repeat(levels));
    format!("p {{ x := {}\ny := {}\nx == y }}", tower(left), tower(right))
}

/// Much of everything.
fn long() -> Vec<Hostile> {
    use Fate::{Answered, Ends, Refused};
    vec![
        raw("more than a mebibyte", Refused, format!("package t\n{}", "#\n".repeat(600_000))),
        raw("a mebibyte of zeros", Refused, "\0".repeat(1 << 20)),
        body("a line that does not end", Refused, format!("p = \"{}\"", "a".repeat(1 << 17))),
        body(
            "a long string over many lines",
            Answered,
            format!("p = x {{ x := count(`{}`) }}", "abcdefghij\n".repeat(90_000)),
        ),
        body("a name that does not end", Refused, format!("{} = 1", "a".repeat(1 << 17))),
        body("a name as long as a line", Answered, format!("p = {0}\n{0} = 1", "a".repeat(8_000))),
        body("a number of many digits", Ends, format!("p = x {{ x := {} }}", "9".repeat(16_000))),
        body("a number with a large exponent", Ends, "p = x { x := 1e999999999 }"),
        body("a number with a larger exponent", Ends, "p = x { x := 1e99999999999999999999 * 2 }"),
        body("a number with a small exponent", Ends, "p = x { x := 1e-999999999 }"),
        body("escapes that do not end", Refused, format!("p = \"{}", "\\\"".repeat(8_000))),
        body(
            "a reference of many names",
            Refused,
            format!("p = x {{ x := input{} }}", ".a\n".repeat(300_000)),
        ),
        body(
            "a reference of many variables",
            Refused,
            format!("p = x {{ x := input{} }}", "[_]".repeat(4_000)),
        ),
        raw("a package of many names", Refused, format!("package t{}\np = 1", ".a".repeat(8_000))),
        body("a head of many names", Refused, format!("p{} = 1", ".a".repeat(8_000))),
        body("many imports", Ends, series(20_000, |n| format!("import data.a{n}.b\n")) + "p = 1"),
        body("many imports of one name", Ends, "import data.a\n".repeat(60_000) + "p = 1"),
        body("many rules", Refused, series(20_000, |n| format!("r{n} = {n}\n"))),
        body("many bodies", Refused, format!("p = 1 {{ true }}{}", "{ true }\n".repeat(90_000))),
        body(
            "many bodies under a large head",
            Refused,
            format!("p = [{}1] {{ true }}{}", "1,\n".repeat(100_000), "{ true }\n".repeat(60_000)),
        ),
        body(
            "a constant of many elements",
            Answered,
            format!("p = x {{ x := count([{}1]) }}", "1,\n".repeat(300_000)),
        ),
        body(
            "a table of many pairs",
            Answered,
            format!(
                "p = x {{ y := {{{}\"k\": 1}}; x := y.k }}",
                series(40_000, |n| format!("\"k{n}\": {n},\n"))
            ),
        ),
        body(
            "an array of many variables",
            Refused,
            format!("p = x {{ y := 1; x := [{}y] }}", "y,\n".repeat(200_000)),
        ),
        body(
            "equal arrays of many variables",
            Refused,
            format!("p {{ [{0}y] = [{0}y] }}", "y,\n".repeat(100_000)),
        ),
        body(
            "many statements",
            Refused,
            format!("p {{ {} }}", series(50_000, |n| format!("x{n} := input.a\n"))),
        ),
        body(
            "many calls in one statement",
            Refused,
            format!("p {{ x := [{}1] }}", "abs(input.a),\n".repeat(60_000)),
        ),
        body(
            "many with",
            Ends,
            format!("p {{ q {} }}\nq {{ input.a }}", "with input.a as 1\n".repeat(50_000)),
        ),
        body("many unknown functions", Refused, format!("p {{ {} true }}", "f(1)\n".repeat(150_000))),
        body(
            "many unknown functions on few lines",
            Refused,
            format!("p {{ {} true }}", ("f(1);".repeat(3_000) + "\n").repeat(60)),
        ),
        body(
            "many unsafe variables",
            Refused,
            format!("p {{ {} true }}", series(60_000, |n| format!("x{n} > 1\n"))),
        ),
        body(
            "many conflicts",
            Refused,
            "p = 1\n".repeat(1_500) + &series(1_500, |n| format!("p.a{n}.b = 1\n")),
        ),
    ]
}

/// Returns templates that are expensive to compile.
fn tangled() -> Vec<Hostile> {
    use Fate::{Answered, Ends};
    let reversed = |count: usize| {
        format!("p = x0 {{ {}x{count} = 1 }}", series(count, |n| format!("x{n} = x{}\n", n + 1)))
    };
    vec![
        body("3,000 statements in reverse", Answered, reversed(3_000)),
        body("100,000 statements in reverse", Fate::Refused, reversed(60_000)),
        body(
            "many comprehensions side by side",
            Answered,
            format!("p = x0 {{ {} }}", series(1_000, |n| format!("x{n} := [y | y := [1][_]]\n"))),
        ),
        body(
            "comprehensions in reverse",
            Answered,
            format!(
                "p = x0 {{ {}x700 = [1] }}",
                series(700, |n| format!("x{n} = [y | y := x{}[_]]\n", n + 1))
            ),
        ),
        body(
            "many references to all rules",
            Ends,
            series(1_000, |n| format!("r{n} = {n}\n"))
                + &format!("p {{ x := data.t2; {} }}", "data.t2[_]\n".repeat(3_000)),
        ),
        body(
            "many rules that refer to all others",
            Ends,
            series(1_900, |n| format!("a.r{n} = {n}\nq{n} {{ data.t.a[_] == {n} }}\n")) + "p { q1 }",
        ),
        body(
            "a chain of rules",
            Ends,
            series(3_000, |n| format!("r{} = [r{n}]\n", n + 1)) + "r0 = 1\np = r3000",
        ),
        body(
            "a chain of functions",
            Ends,
            series(3_000, |n| format!("f{}(x) = y {{ y := f{n}(x) }}\n", n + 1))
                + "f0(x) = x\np = x { x := f3000(1) }",
        ),
        body(
            "a diamond of rules",
            Ends,
            series(500, |n| format!("r{} = r{n} + r{n}\n", n + 1)) + "r0 = 1\np = r500",
        ),
        body(
            "types that double",
            Answered,
            chain("[1, \"a\"]", 60, |x| format!("{{\"a\": {x}, \"b\": {x}}}.a")),
        ),
        body("wide types, compared often", Ends, {
            let wide = series(250, |n| format!("\"k{n}\": 1,"));
            format!(
                "p {{ x := {{{wide}\n\"l\": input}}\ny := {{{wide}\n\"l\": input}}\n{} }}",
                "x == y\n".repeat(3_000)
            )
        }),
        body(
            "a reference that grows with each statement",
            Answered,
            chain("input", 2_000, |x| format!("object.get({x}, \"a\", {x})")),
        ),
        body("fields of fields", Ends, chain("input", 2_000, |x| format!("{x}.a"))),
        body("calls that end up in one another", Answered, chain("1", 2_000, |x| format!("abs({x})"))),
        body(
            "two calls each that end up in one another",
            Answered,
            chain("1", 1_500, |x| format!("abs(abs({x}))")),
        ),
        body(
            "many heads that overlap",
            Ends,
            series(1_900, |n| format!("p[x].a[y] = {n} {{ x := {n}; y := 1 }}\np.b{n}.c = 1\n")),
        ),
    ]
}

/// Much to do.
fn looping() -> Vec<Hostile> {
    use Fate::Stopped;
    vec![
        body("a huge range", Stopped, "p = x { x := numbers.range(1, 1000000000000) }"),
        body("a huge range, stepwise", Stopped, "p = x { x := numbers.range_step(1, 1000000000000, 7) }"),
        body(
            "a huge range downwards",
            Stopped,
            "p = x { x := numbers.range(1000000000000, -1000000000000) }",
        ),
        body(
            "a huge range of huge numbers",
            Stopped,
            "p = x { x := numbers.range(0, 170141183460469231731687303715884105727) }",
        ),
        body("a range as large as its bounds", Stopped, "p = x { x := count(numbers.range(1, 100000000)) }"),
        body("a range in steps", Stopped, "p = x { x := count(numbers.range_step(1, 1000000000000, 3)) }"),
        body("a network of two million", Stopped, "p = x { x := count(net.cidr_expand(\"10.0.0.0/11\")) }"),
        body("a quantity of many digits", Stopped, "p = x { x := units.parse(\"1e20000\") }"),
        body(
            "a deep document",
            Stopped,
            "p = x { a := concat(\"\", [s | numbers.range(1, 600)[_]; s := \"[\"]); x := json.unmarshal(concat(\"\", [a, replace(a, \"[\", \"]\")])) }",
        ),
        body("a cross product", Stopped, "p { a := numbers.range(1, 10000); a[_] + a[_] + a[_] == 0 - 1 }"),
        body(
            "a cross product in a comprehension",
            Stopped,
            "p = x { a := numbers.range(1, 10000); x := [[i, j] | a[i]; a[j]] }",
        ),
        body("a cross product in a set", Stopped, "p[[i, j]] { a := numbers.range(1, 10000); a[i]; a[j] }"),
        body(
            "a cross product in every",
            Stopped,
            "import future.keywords\np if { a := numbers.range(1, 10000); every x in a { every y in a { x + y > 0 } } }",
        ),
        body(
            "a cross product of calls",
            Stopped,
            "p { a := numbers.range(1, 10000); f(a[_], a[_]) == 0 - 1 }\nf(x, y) = z { z := x * y }",
        ),
        body(
            "a cross product through walk",
            Stopped,
            "p { a := numbers.range(1, 3000); walk(a, [_, x]); walk(a, [_, y]); x == [y] }",
        ),
        body(
            "functions that call two each",
            Fate::Answered,
            series(50, |n| format!("f{}(x) = y {{ y := f{n}(x) + f{n}(x) }}\n", n + 1))
                + "f0(x) = x\np = x { x := f50(1) }",
        ),
        body(
            "worlds in a cross product",
            Stopped,
            "p { a := numbers.range(1, 10000); q with input as a[_] with data.x as a[_] }\nq { input == data.x + 20000 }",
        ),
        body(
            "a long negation",
            Stopped,
            "p { a := numbers.range(1, 10000); not f(a) }\nf(a) { a[_] + a[_] == 0 - 1 }",
        ),
        body(
            "a join of large objects",
            Stopped,
            "p { o := {sprintf(\"%d\", [i]): [j | j := numbers.range(1, 100)[_]] | i := numbers.range(1, 3000)[_]}; o[a] == o[b]; a == \"x\"; b == \"x\" }",
        ),
    ]
}

/// Values that double.
fn growing() -> Vec<Hostile> {
    use Fate::{Answered, Ends, Stopped};
    let twice = |call: &'static str| move |x: &str| call.replace('@', x);
    vec![
        body(
            "concat that doubles",
            Stopped,
            chain("\"aaaaaaaaaaaaaaaa\"", 60, twice("concat(\"\", [@, @])")),
        ),
        body(
            "sprintf that doubles",
            Stopped,
            chain("\"aaaaaaaaaaaaaaaa\"", 60, twice("sprintf(\"%v%v\", [@, @])")),
        ),
        body("a template that doubles", Stopped, chain("\"aaaaaaaaaaaaaaaa\"", 60, twice("$\"{@}{@}\""))),
        body(
            "replace that multiplies",
            Stopped,
            chain("\"aaaa\"", 30, twice("replace(@, \"a\", \"aaaaaaaaaaaaaaaa\")")),
        ),
        body(
            "replace of nothing",
            Stopped,
            chain("\"aaaa\"", 30, twice("replace(@, \"\", \"aaaaaaaaaaaaaaaa\")")),
        ),
        body(
            "replace_n that multiplies",
            Stopped,
            chain("\"aaaa\"", 30, twice("strings.replace_n({\"a\": \"aaaaaaaaaaaaaaaa\"}, @)")),
        ),
        body(
            "replace_n of nothing",
            Stopped,
            chain("\"aaaa\"", 30, twice("strings.replace_n({\"\": \"aaaaaaaaaaaaaaaa\"}, @)")),
        ),
        body(
            "regex.replace that multiplies",
            Stopped,
            chain("\"aaaa\"", 30, twice("regex.replace(@, \"a\", \"aaaaaaaaaaaaaaaa\")")),
        ),
        body(
            "regex.replace of all by all",
            Stopped,
            chain("\"aaaa\"", 30, twice("regex.replace(@, \"(.*)\", \"$1$1$1$1$1$1$1$1\")")),
        ),
        body("array.concat that doubles", Stopped, chain("[1]", 60, twice("array.concat(@, @)"))),
        body("a comprehension that doubles", Stopped, chain("[1]", 60, twice("[y | y := [@, @][_][_]]"))),
        body("an array of itself twice", Ends, chain("[1]", 60, twice("[@, @]"))),
        body("an array of itself, deep", Ends, chain("[1]", 2_000, twice("[@]"))),
        body("an object of itself, deep", Ends, chain("[1]", 2_000, twice("{\"a\": @}"))),
        body("a set of itself, deep", Ends, chain("[1]", 2_000, twice("{@}"))),
        body("a comprehension of itself, deep", Ends, chain("[1]", 1_000, twice("[y | y := @]"))),
        body(
            "doubled arrays compared",
            Stopped,
            format!(
                "p {{ x0 := [input]\ny0 := [input]\n{}x40 == y40 }}",
                series(40, |n| format!("x{0} := [x{n}, x{n}]\ny{0} := [y{n}, y{n}]\n", n + 1))
            ),
        ),
        body("doubled arrays marshalled", Stopped, doubled("json.marshal(x40)")),
        body("doubled arrays as YAML", Stopped, doubled("yaml.marshal(x40)")),
        body("doubled arrays printed", Stopped, doubled("sprintf(\"%v\", [x40])")),
        body("doubled arrays in a template", Stopped, doubled("$\"{x40}\"")),
        body("doubled arrays walked", Stopped, doubled("[v | walk(x40, [_, v])]")),
        body("doubled arrays in a set", Stopped, doubled("{x40, [x40]}")),
        body("doubled arrays as keys", Stopped, doubled("{x40: 1, [x40]: 2}")),
        body("doubled arrays looked up", Stopped, doubled("{x40: 1}[x40]")),
        body("doubled arrays sorted", Stopped, doubled("sort([x40, x39, x40])")),
        body("doubled arrays in one another", Stopped, doubled("x40 in [x40]")),
        body(
            "doubled objects united",
            Ends,
            format!(
                "p = x {{ x0 := {{\"a\": 1}}\n{}x := object.union(x40, x39) }}",
                series(40, |n| format!("x{} := {{\"a\": x{n}, \"b\": x{n}}}\n", n + 1))
            ),
        ),
        body("a sum of a large number of numbers", Answered, "p = x { x := sum(numbers.range(1, 100000)) }"),
        body(
            "a product of a large number of numbers",
            Stopped,
            "p = x { x := product(numbers.range(1, 100000)) }",
        ),
        body("a number that squares", Stopped, chain("99999999999999999999999", 40, twice("@ * @"))),
        body(
            "a number that squares and is printed",
            Stopped,
            chain("99999999999999999999999", 17, twice("@ * @"))
                .replace("x := x17", "x := sprintf(\"%d\", [x17])"),
        ),
        body(
            "a number that squares and is a text",
            Stopped,
            chain("99999999999999999999999", 17, twice("@ * @"))
                .replace("x := x17", "x := json.marshal(x17)"),
        ),
        body(
            "a number that squares and is divided",
            Stopped,
            chain("99999999999999999999999", 18, twice("@ * @")).replace("x := x18", "x := x18 % (x17 + 1)"),
        ),
        body("a shift that is far", Stopped, "p = x { x := bits.lsh(1, 100000000000) }"),
        body("a shift that is negative", Ends, "p = x { x := bits.lsh(1, -100000000000) }"),
        body("a shift to the right that is negative", Ends, "p = x { x := bits.rsh(1, -100000000000) }"),
        body("shifts of shifts", Stopped, chain("1", 60, twice("bits.lsh(@, 1000000)"))),
        body(
            "a split into characters",
            Stopped,
            format!(
                "{}\n{}",
                chain("\"aaaaaaaaaaaaaaaa\"", 20, twice("concat(\"\", [@, @])"))
                    .replace("x := x20", "x := [split(x20, \"\") | numbers.range(1, 100)[_]]"),
                ""
            ),
        ),
        body(
            "a range of ranges",
            Stopped,
            "p = x { x := [numbers.range(1, 100000) | numbers.range(1, 100000)[_]] }",
        ),
        body(
            "union_n of many",
            Ends,
            "p = x { x := object.union_n([{\"a\": y} | y := numbers.range(1, 200000)[_]]) }",
        ),
        body(
            "union_n that grows",
            Ends,
            "p = x { x := object.union_n([{sprintf(\"%d\", [y]): y} | y := numbers.range(1, 100000)[_]]) }",
        ),
        body("union of many sets", Ends, "p = x { x := union({{y} | y := numbers.range(1, 100000)[_]}) }"),
        body(
            "intersection of many sets",
            Ends,
            "p = x { x := intersection({{y, 1} | y := numbers.range(1, 100000)[_]}) }",
        ),
        body("flatten of itself", Stopped, chain("[1, 1]", 60, twice("array.flatten([@, @])"))),
        body("base64 of itself", Stopped, chain("\"aaaaaaaaaaaaaaaa\"", 200, twice("base64.encode(@)"))),
        body("hex of itself", Stopped, chain("\"aaaaaaaaaaaaaaaa\"", 60, twice("hex.encode(@)"))),
        body("urlquery of itself", Ends, chain("\"%%%%%%%%%%%%%%%%\"", 60, twice("urlquery.encode(@)"))),
        body("json of itself", Stopped, chain("\"\\\"\"", 60, twice("json.marshal(@)"))),
    ]
}

/// A body that doubles an array forty times, and then does something with it.
fn doubled(last: &str) -> String {
    let steps = series(40, |n| format!("x{} := [x{n}, x{n}]\n", n + 1));
    format!("import future.keywords.in\np = x {{\nx0 := [1]\n{steps}x := {last}\n}}")
}

/// Templates with patterns.
fn matching() -> Vec<Hostile> {
    use Fate::{Answered, Ends};
    let long = |count: usize| format!("concat(\"\", [\"x\" | numbers.range(1, {count})[_]])");
    vec![
        body(
            "a pattern that expands",
            Ends,
            "p { regex.match(\"(((((a{1,4}){1,4}){1,4}){1,4}){1,3})\", \"aaaa\") }",
        ),
        body(
            "a pattern that expands to its limit",
            Ends,
            format!("p {{ regex.match(\"(x{{1,50}}){{1,20}}y\", {}) }}", long(20_000)),
        ),
        body(
            "many patterns that expand",
            Ends,
            "p = x { x := [1 | y := numbers.range(1, 1000)[_]; regex.match(sprintf(\"(a{1,50}){1,20}%d\", [y]), \"aaaa\")] }",
        ),
        body(
            "nested quantifiers",
            Answered,
            format!("p = x {{ x := regex.match(\"(x+x+)+y\", {}) }}", long(20_000)),
        ),
        body(
            "alternatives that overlap",
            Answered,
            format!("p = x {{ x := regex.match(\"^(x|xx|xxx)*y$\", {}) }}", long(20_000)),
        ),
        body(
            "matches that reach far",
            Ends,
            format!("p = x {{ x := regex.find_n(\".*[^x]|x\", {}, -1) }}", long(100_000)),
        ),
        body(
            "splits that reach far",
            Ends,
            format!("p = x {{ x := regex.split(\".*[^x]|x\", {}) }}", long(100_000)),
        ),
        body(
            "replacements that reach far",
            Ends,
            format!("p = x {{ x := regex.replace({}, \".*[^x]|x\", \"y\") }}", long(100_000)),
        ),
        body(
            "groups that reach far",
            Ends,
            format!(
                "p = x {{ x := regex.find_all_string_submatch_n(\"(.*)(.*)(.*)[^x]|x\", {}, -1) }}",
                long(100_000)
            ),
        ),
        body(
            "groups of groups",
            Ends,
            format!(
                "p = x {{ x := regex.find_all_string_submatch_n(\"{}x{}\", {}, -1) }}",
                "(".repeat(200),
                ")".repeat(200),
                long(20_000)
            ),
        ),
        body(
            "a template of patterns",
            Ends,
            format!(
                "p {{ regex.template_match(\"{}\", \"a\", \"<\", \">\") }}",
                "<(a{1,50}){1,20}>".repeat(800)
            ),
        ),
        body(
            "a pattern of many parentheses",
            Ends,
            format!("p {{ regex.match(\"{}a{}\", \"a\") }}", "(".repeat(5_000), ")".repeat(5_000)),
        ),
        body(
            "a glob of alternatives",
            Ends,
            format!("p {{ glob.match(\"{}\", [], {}) }}", "{a,b,*}*".repeat(200), long(20_000)),
        ),
        body(
            "a glob of globs",
            Ends,
            format!(
                "p {{ glob.match(\"{}\", [], {}) }}",
                "{a,{b,".repeat(500) + &"}}".repeat(500),
                long(100)
            ),
        ),
        body(
            "a glob of stars",
            Ends,
            format!("p {{ glob.match(\"{}y\", [], {}) }}", "*".repeat(2_000), long(20_000)),
        ),
        body(
            "globs that meet",
            Ends,
            format!("p {{ regex.globs_match(\"{}\", \"{}\") }}", "a.*".repeat(500), "[a-z]+.*".repeat(500)),
        ),
        body(
            "a needle like its haystack",
            Ends,
            format!(
                "p = x {{ h := {}; n := concat(\"\", [substring(h, 0, 50000), \"y\"]); x := indexof_n(h, n) }}",
                long(100_000)
            ),
        ),
        body(
            "many needles",
            Ends,
            format!(
                "p = x {{ h := {}; x := strings.replace_n({{concat(\"\", [substring(h, 0, i), \"y\"]): \"\" | i := numbers.range(1, 2000)[_]}}, h) }}",
                long(20_000)
            ),
        ),
        body(
            "many prefixes",
            Ends,
            "p = x { a := [sprintf(\"%d\", [i]) | i := numbers.range(1, 20000)[_]]; x := strings.any_prefix_match(a, [concat(\"\", [y, \"x\"]) | y := a[_]]) }",
        ),
        body(
            "a trim of many characters",
            Ends,
            format!("p = x {{ h := {}; x := trim(concat(\"\", [h, \"y\"]), h) }}", long(100_000)),
        ),
    ]
}

/// Builtins that do much for little.
fn builtins() -> Vec<Hostile> {
    const KEY: &str = "-----BEGIN EC PRIVATE KEY-----\\nMC4CAQEEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABoAcGBSuBBAAj\\n-----END EC PRIVATE KEY-----\\n";
    use Fate::{Ends, Stopped};
    let dense = "{i: numbers.range(1, 1500) | i := numbers.range(1, 1500)[_]}";
    let ladder = "{i: [j | d := [1, 2][_]; j := i + d; j < 61] | i := numbers.range(1, 60)[_]}";
    let laughs = series(8, |n| {
        format!(
            "{0}: &{0} [{1}]\n",
            char::from(b'b' + n as u8),
            vec![format!("*{}", char::from(b'a' + n as u8)); 9].join(",")
        )
    });
    vec![
        body("a width beyond all", Ends, "p = x { x := sprintf(\"%999999999d\", [1]) }"),
        body(
            "many wide directives",
            Stopped,
            format!("p = x {{ x := sprintf(\"{}\", numbers.range(1, 1500)) }}", "%999999d".repeat(1_500)),
        ),
        body(
            "one argument many times",
            Stopped,
            format!(
                "p = x {{ x := sprintf(\"{}\", [concat(\"\", [\"xxxxxxxxxx\" | numbers.range(1, 50000)[_]])]) }}",
                "%[1]v".repeat(3_000)
            ),
        ),
        body(
            "a precision beyond all",
            Ends,
            "p = x { x := sprintf(\"%.999999f %.999999e %0999999d\", [1.5, 1.5, 1]) }",
        ),
        body(
            "many keys",
            Stopped,
            format!(
                "p = x {{ x := crypto.parse_private_keys(concat(\"\", [\"{KEY}\" | numbers.range(1, 20000)[_]])) }}"
            ),
        ),
        body(
            "documents within documents",
            Ends,
            "p = x { x := yaml.unmarshal(concat(\"\", [\"[\" | numbers.range(1, 100000)[_]])) }",
        ),
        body(
            "a patch that goes down without end",
            Ends,
            "p = x { o := [{\"op\": \"add\", \"path\": [\"a\" | numbers.range(1, i)[_]], \"value\": {}} | i := numbers.range(1, 1500)[_]]; x := json.patch({}, o) }",
        ),
        body(
            "a layout of everything",
            Ends,
            "p = x { l := concat(\"\", [\"Monday, January 2 15:04:05.000000000 MST 2006\" | numbers.range(1, 20000)[_]]); x := time.parse_ns(l, time.format([1, \"Europe/Berlin\", l])) }",
        ),
        body(
            "certificates of nothing",
            Ends,
            "p = x { x := crypto.x509.parse_and_verify_certificates(concat(\"\", [\"-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----\\n\" | numbers.range(1, 20000)[_]])) }",
        ),
        body("all addresses", Stopped, "p = x { x := net.cidr_expand(\"0.0.0.0/0\") }"),
        body("half of all addresses", Stopped, "p = x { x := net.cidr_expand(\"0.0.0.0/1\") }"),
        body("all addresses of the next generation", Stopped, "p = x { x := net.cidr_expand(\"::/0\") }"),
        body(
            "networks against networks",
            Stopped,
            "p = x { a := [sprintf(\"10.%d.%d.0/24\", [i, j]) | i := numbers.range(0, 255)[_]; j := numbers.range(0, 99)[_]]; x := net.cidr_contains_matches(a, a) }",
        ),
        body(
            "networks into networks",
            Ends,
            "p = x { x := net.cidr_merge([sprintf(\"10.%d.%d.0/25\", [i, j]) | i := numbers.range(0, 255)[_]; j := numbers.range(0, 99)[_]]) }",
        ),
        body("a dense graph", Stopped, format!("p = x {{ x := graph.reachable({dense}, [1]) }}")),
        body(
            "paths through a dense graph",
            Stopped,
            format!("p = x {{ x := graph.reachable_paths({dense}, [1]) }}"),
        ),
        body(
            "paths through a ladder",
            Stopped,
            format!("p = x {{ x := graph.reachable_paths({ladder}, [1]) }}"),
        ),
        body(
            "a path as long as can be",
            Ends,
            "p = x { x := graph.reachable_paths({i: [i + 1] | i := numbers.range(1, 50000)[_]}, [1]) }",
        ),
        body(
            "many patches",
            Ends,
            "p = x { x := json.patch({}, [{\"op\": \"add\", \"path\": sprintf(\"/%d\", [i]), \"value\": numbers.range(1, 100)} | i := numbers.range(1, 5000)[_]]) }",
        ),
        body(
            "patches that copy all",
            Ends,
            "p = x { x := json.patch({\"a\": [1]}, [{\"op\": \"copy\", \"from\": \"\", \"path\": \"/a/0\"} | numbers.range(1, 40)[_]]) }",
        ),
        body(
            "patches at the front",
            Ends,
            "p = x { x := json.patch(numbers.range(1, 20000), [{\"op\": \"add\", \"path\": \"/0\", \"value\": 1} | numbers.range(1, 20000)[_]]) }",
        ),
        body(
            "a filter of many paths",
            Ends,
            "p = x { o := {sprintf(\"%d\", [i]): i | i := numbers.range(1, 20000)[_]}; x := json.filter(o, {k | o[k]}) }",
        ),
        body(
            "a removal of many paths",
            Ends,
            "p = x { o := {sprintf(\"%d\", [i]): i | i := numbers.range(1, 20000)[_]}; x := json.remove(o, {k | o[k]}) }",
        ),
        body(
            "a subset of ones",
            Stopped,
            "p = x { o := [1 | numbers.range(1, 40000)[_]]; x := object.subset(o, array.concat([1 | numbers.range(1, 20000)[_]], [2])) }",
        ),
        body("deep JSON", Ends, format!("p = x {{ x := json.unmarshal(`{}`) }}", "[\n".repeat(100_000))),
        body(
            "deep JSON, valid",
            Ends,
            format!("p = x {{ x := json.is_valid(`{}{}`) }}", "[\n".repeat(100_000), "]\n".repeat(100_000)),
        ),
        body("JSON with a large number", Ends, "p = x { x := json.unmarshal(\"1e999999999\") }"),
        body(
            "JSON with a long number",
            Ends,
            "p = x { x := json.unmarshal(concat(\"\", [\"9\" | numbers.range(1, 400000)[_]])) }",
        ),
        body(
            "a text that is a long number",
            Ends,
            "p = x { x := to_number(concat(\"\", [\"9\" | numbers.range(1, 400000)[_]])) }",
        ),
        body(
            "a text that is a large number",
            Ends,
            "p = x { x := to_number(\"1e308\") * to_number(\"1e308\") }",
        ),
        body("deep YAML", Stopped, format!("p = x {{ x := yaml.unmarshal(`{}`) }}", "[\n".repeat(20_000))),
        body(
            "YAML deep by indentation",
            Stopped,
            format!(
                "p = x {{ x := yaml.unmarshal(`{}`) }}",
                series(1_000, |n| format!("{}a:\n", " ".repeat(n)))
            ),
        ),
        body(
            "YAML that laughs",
            Ends,
            format!("p = x {{ x := yaml.unmarshal(`a: &a [x,x,x,x,x,x,x,x,x]\n{laughs}`) }}"),
        ),
        body(
            "a schema that is itself",
            Ends,
            "p = x { x := json.match_schema({\"a\": 1}, {\"$ref\": \"#\"}) }",
        ),
        body(
            "a schema of patterns",
            Ends,
            "p = x { x := json.match_schema({\"a\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"}, {\"properties\": {\"a\": {\"pattern\": \"^(a+)+$\"}}}) }",
        ),
        body(
            "a schema of schemas",
            Ends,
            format!(
                "p = x {{ s0 := {{\"type\": \"string\"}}\n{}x := json.match_schema(1, s20) }}",
                series(20, |n| format!("s{} := {{\"anyOf\": [s{n}, s{n}]}}\n", n + 1))
            ),
        ),
        body(
            "a unit of many digits",
            Ends,
            "p = x { x := units.parse(concat(\"\", [\"9\" | numbers.range(1, 200000)[_]])) }",
        ),
        body(
            "a unit with an exponent",
            Ends,
            "p = x { x := [units.parse(\"1e999999\"), units.parse_bytes(\"1e-999999\")] }",
        ),
        body(
            "a date beyond all",
            Ends,
            "p = x { x := time.add_date(0, 999999999999, 999999999999, 999999999999) }",
        ),
        body(
            "dates beyond all",
            Ends,
            "p = x { x := [time.format([9223372036854775807, \"UTC\", concat(\"\", [\"January \" | numbers.range(1, 50000)[_]])]), time.diff(0, 9223372036854775807)] }",
        ),
        body(
            "a sort of sets",
            Ends,
            "p = x { x := sort([{i, {i}, [i]} | i := numbers.range(1, 20000)[_]]) }",
        ),
        body(
            "a sort of objects",
            Ends,
            "p = x { o := {sprintf(\"%d\", [i]): i | i := numbers.range(1, 300)[_]}; x := sort([object.union(o, {\"x\": i}) | i := numbers.range(1, 1000)[_]]) }",
        ),
        body(
            "keys for a token",
            Ends,
            "p = x { x := io.jwt.decode_verify(\"a.b.c\", {\"cert\": concat(\"\", [\"{\" | numbers.range(1, 100000)[_]])}) }",
        ),
        body("a walk over all", Ends, "p = x { x := [v | walk(numbers.range(1, 300000), [_, v])] }"),
        body(
            "a membership of members",
            Ends,
            "import future.keywords.in\np { a := numbers.range(1, 40000); every_in(a) }\nevery_in(a) { x := a[_]; not x in a }",
        ),
        body(
            "objects by the million",
            Stopped,
            "p = x { x := {i: {\"a\": i} | i := numbers.range(1, 3000000)[_]} }",
        ),
    ]
}

/// Builtin functions whose arguments are programs of their own.
fn languages() -> Vec<Hostile> {
    use Fate::{Ends, Stopped};
    let doubling = |begin: &str, both: &str| {
        series(60, |n| {
            format!(
                "\"a{n}\": {{\"{begin}\": {}}},",
                both.replace('@', &format!("{{\"$ref\": \"#/definitions/a{}\"}}", n + 1))
            )
        })
    };
    let schema = |begin: &str, both: &str| {
        format!(
            "{{\"$ref\": \"#/definitions/a0\", \"definitions\": {{{}\"a60\": false}}}}",
            doubling(begin, both)
        )
    };
    let matched = |schema: &str| format!("p = x {{ x := json.match_schema({{\"a\": [1]}}, {schema}) }}");
    let rendered = |template: &str| format!("p = x {{ x := strings.render_template(`{template}`, {{}}) }}");
    let fragments = series(200, |n| format!("fragment F{n} on T {{ t {{ ...F{} ...F{} }} }} ", n + 1, n + 2));
    let schema_text = "type T { t: T s: String } type Query { t: T }";
    vec![
        body("a schema without end", Stopped, matched("{\"$ref\": \"#\"}")),
        body("schemas that double", Stopped, matched(&schema("allOf", "[@, @]"))),
        body("schemas of which any will do", Stopped, matched(&schema("anyOf", "[@, @]"))),
        body(
            "a schema of long numbers",
            Ends,
            "p = x { x := json.match_schema([1e-29000], {\"items\": {\"multipleOf\": 1e-30000}}) }",
        ),
        body(
            "a template that is itself",
            Stopped,
            rendered("{{define \"a\"}}{{template \"a\"}}{{end}}{{template \"a\"}}"),
        ),
        body("a template without end", Stopped, rendered("{{range 9000000000000000000}}{{end}}")),
        body(
            "a Go template that doubles",
            Stopped,
            rendered(&format!("{{{{$x := \"aaaaaaaa\"}}}}{}", "{{$x = print $x $x}}".repeat(60))),
        ),
        body("a wide template", Stopped, rendered("{{range 100000}}{{printf \"%999999d\" 1}}{{end}}")),
        body(
            "a template of brackets",
            Ends,
            rendered(&format!("{{{{{}1{}}}}}", "(".repeat(4_000), ")".repeat(4_000))),
        ),
        body(
            "fragments of fragments",
            Ends,
            format!(
                "p = x {{ x := graphql.is_valid(`{{ t {{ ...F0 }} }} {fragments} fragment F200 on T {{ s }} fragment F201 on T {{ s }}`, `{schema_text}`) }}"
            ),
        ),
        body(
            "a query of one field",
            Ends,
            format!(
                "p = x {{ x := graphql.is_valid(`{{ {} }}`, `{schema_text}`) }}",
                "t { s } ".repeat(3_000)
            ),
        ),
        body(
            "a deep query",
            Ends,
            format!("p = x {{ x := graphql.parse_query(`{}{}`) }}", "{t".repeat(4_000), "}".repeat(4_000)),
        ),
        body(
            "queries that double",
            Ends,
            format!(
                "p = x {{ x := graphql.is_valid(`{}s{}`, `{schema_text}`) }}",
                "{ t { s } t ".repeat(25) + "{",
                "}".repeat(26)
            ),
        ),
    ]
}
