use super::*;

fn finder(policy: LoadPolicy, hosts: &[&str]) -> LoadFinder {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    LoadFinder::new(policy, Some(LinkPolicy::Listed), ListedHosts::new(&hosts).unwrap())
}

fn none() -> LoadFinder {
    finder(LoadPolicy::None, &[])
}

/// The text without what is withheld.
fn left(text: &str) -> String {
    let mut left = text.to_owned();
    for range in none().loads(text, &ReferenceLabels::default()).into_iter().rev() {
        left.replace_range(range, "");
    }
    left
}

/// Rows of loads, each with what leaves.
const LOADS: &[(&str, &str)] = &[
    ("![a](https://e.example/x)", "![a]()"),
    ("![a](<https://e.example/x y> \"t (1)\") b", "![a]() b"),
    ("![a]( https://e.example/(1) 'a)' )", "![a](  )"),
    ("![a](https://e.example/1 https://e.example/2)", "![a]()"),
    ("![a [b](https://c.example) d](https://e.example)", "![a [b](https://c.example) d]()"),
    ("![a `]` b](https://e.example)", "![a `]` b]()"),
    ("![a <b title=\"]\"> c](//e.example)", "![a <b title=\"]\"> c]()"),
    ("![a] b](https://e.example)", "![a] b]()"),
    ("![a \\] b](https://e.example)", "![a \\] b]()"),
    ("[![a](https://e.example/x)](https://c.example)", "[![a]()](https://c.example)"),
    ("![a](data:image/png;base64,AAAA)", "![a]()"),
    ("![a](javascript:x)", "![a]()"),
    ("![a](/\\e.example)", "![a]()"),
    ("![a](/r?to=x)", "![a]()"),
    ("![a](https://e.example", "![a]("),
    ("![a\nb](https://e.example)", "![a\nb]()"),
    ("![a][b]\n\n[B]: https://e.example/x 't'\nc", "![a][b]\n\n[B]\nc"),
    ("![a][]\n\n[a]:\n  <//e.example>\n", "![a][]\n\n[a]\n"),
    ("[a]: https://e.example\n\n![A ] b", "[a]\n\n![A ] b"),
    ("![x][a\\]b]\n\n[a\\]b]: //e.example", "![x][a\\]b]\n\n[a\\]b]"),
    ("![x][^1]\n\n[^1]: //e.example", "![x][^1]\n\n[^1]"),
    ("Wow![1]\n\n[1]: https://e.example", "Wow![1]\n\n[1]"),
    ("<img src=\"https://e.example\" alt='a'>", "<img src=\"\" alt='a'>"),
    ("<IMG alt=a SRC = 'https://e.example' >", "<IMG alt=a SRC = '' >"),
    ("<img src=https://e.example/1 https://e.example/2>", "<img  https://e.example/2>"),
    ("<img/src=//e.example/>", "<img/>"),
    ("<img title='>' src=\"&sol;/e.example\">", "<img title='>' src=\"\">"),
    ("<img src='/a.png' srcset='/b.png 1x, https://e.example/c.png 2x'>", "<img src='/a.png' srcset=''>"),
    ("<link rel=preload href=\"https://e.example\">", "<link rel=preload href=\"\">"),
    ("<base href='https://e.example/'>", "<base href=''>"),
    ("<iframe srcdoc='<img src=\"https://e.example\">'>", "<iframe srcdoc=''>"),
    ("<svg><use xlink:href='https://e.example#a'/></svg>", "<svg><use xlink:href=''/></svg>"),
    ("<set attributeName='href' to='https://e.example'>", "<set attributeName='href' to=''>"),
    ("<meta http-equiv=refresh content='0; https://e.example'>", "<meta http-equiv=refresh content=''>"),
    ("<p style=\"background:url(&quot;https://e.example&quot;)\">", "<p style=\"\">"),
    ("<rect fill='url(https://e.example#a)'/>", "<rect fill=''/>"),
    ("<style>a{background:URL( 'https://e.example' )}</style>", "<style>a{background:URL()}</style>"),
    ("a{background:\\75 r\\6c(//e.example)}", "a{background:\\75 r\\6c()}"),
    ("a{background:image-set(url(a.png) 1x, \"https://e.example\" 2x)}", "a{background:image-set()}"),
    ("@import \"https://e.example\";", "@import \"\";"),
    ("@\\69mport/**/'//e.example';", "@\\69mport/**/'';"),
    ("<script>fetch('https://e.example')</script>", "<script></script>"),
    ("<p onclick='x(\"//e.example\")'>", "<p onclick=''>"),
    ("<object data=https://e.example>", "<object >"),
    ("<td background='https://e.example'>", "<td background=''>"),
    ("[img]https://e.example[/img]", "[img][/img]"),
    ("\\includegraphics[width=1em]{https://e.example}", "\\includegraphics[width=1em]{}"),
];

/// Texts that load nothing, or only from the page's own host.
const NONE: &[&str] = &[
    "[a](https://c.example) and <https://c.example/?src=//x> and https://c.example",
    "Use `vec![1, 2](x)` or #![no_std]; see [docs](https://c.example).",
    "Wow! [1]\n\n[1]: https://c.example",
    "[a]: https://c.example\n\n[a] and [b][a]",
    "![a](images/a.png) and ![b](#c)",
    "<a href='https://c.example' title=x>a</a> <area href=//c.example>",
    "<img src=\"/a.png\" srcset=\"/a.png 1x, /b.png 2x\"><use href=\"#i\"/>",
    "<meta name=viewport content='width=device-width, initial-scale=1'>",
    "if a <b && c> d: curl(https://c.example) url(r'^a/$')",
    "@import 'variables'; @import Foundation; mail@import.example",
    "<rect fill='url(#a)'/> a{background:url(a.png)}",
    "<script src=\"app.js\"></script><script>// a\nrun();</script>",
    "Vec<Option<T>> and 1 <2 and x<y",
];

#[test]
fn what_a_client_loads_does_not_leave_and_what_leaves_loads_nothing() {
    for (text, expected) in LOADS {
        assert_eq!(left(text), *expected, "{text}");
        assert_eq!(left(expected), *expected, "what leaves of {text}");
        let loads = finder(LoadPolicy::Any, &[]).loads(text, &ReferenceLabels::default());
        assert!(loads.is_empty(), "{text}");
    }
}

#[test]
fn what_leads_somewhere_leaves() {
    for text in NONE {
        assert_eq!(left(text), *text);
    }
}

#[test]
fn listed_hosts_can_be_loaded() {
    let finder = finder(LoadPolicy::Listed, &["img.example.org", "*.cdn.example"]);
    let count = |text: &str| finder.loads(text, &ReferenceLabels::default()).len();
    for text in [
        "![a](https://img.example.org/a?b=c \"t\")",
        "<img srcset='https://a.cdn.example/x 1x, //cdn.example/y 2x'>",
        "a{background:url('https://img.example.org/x')}",
        "![a][b]\n\n[b]: https://img.example.org/a",
        "<meta http-equiv=refresh content='0;url=https://img.example.org/'>",
    ] {
        assert_eq!(count(text), 0, "{text}");
    }
    for text in [
        "![a](https://img.example.org.e.example/a)",
        "![a](https://x.img.example.org/a)",
        "<img srcset='https://a.cdn.example/x 1x, //e.example/y 2x'>",
        "![a](https:\\//e.example\\@img.example.org/)",
        "![a](https://img.example.org@e.example/)",
    ] {
        assert_eq!(count(text), 1, "{text}");
    }
}

#[test]
fn links_to_hosts_that_are_not_listed_are_found() {
    let finder = finder(LoadPolicy::Any, &["docs.example.org"]);
    for text in [
        "[a](https://docs.example.org/a) [b](/b?c) [c](#d) <a href='//docs.example.org'>a</a>",
        "[a]: https://docs.example.org 't'",
    ] {
        assert!(finder.links(text).is_empty(), "{text}");
    }
    for (text, address) in [
        ("[a](//e.example/x) b", "//e.example/x"),
        ("[a](javascript:x)", "javascript:x"),
        ("[a]: //e.example/x", "//e.example/x"),
        ("<A title=x HREF=\"https://e.example\">a</A>", "https://e.example"),
        ("[a](https://docs.example.org.e.example)", "https://docs.example.org.e.example"),
    ] {
        assert_eq!(finder.links(text).into_iter().map(|range| &text[range]).collect::<Vec<_>>(), [address]);
    }
    assert!(finder.is_unlisted("www.e.example/docs.example.org") && finder.is_unlisted("ftp://e.example"));
}

/// Markup beyond the reach is broken so that it loads nothing.
#[test]
fn markup_beyond_the_reach_is_read_as_text() {
    let long = "a ".repeat(REACH);
    for (text, first) in [
        (format!("!![{long}](https://e.example)"), "[a "),
        (format!("!![b](https://e.example/{})", "a".repeat(2 * REACH)), "[b]("),
        (format!("<img alt='{long}' src='https://e.example'>"), " alt="),
        (format!("<img {long} src='https://e.example'>"), " a a"),
        (format!("<img src='https://e.example/{long}'>"), " src='a"),
    ] {
        let left = left(&text);
        assert!(left.starts_with(first), "{}", left.get(..60).unwrap());
        let again = none().loads(&left, &ReferenceLabels::default());
        assert!(again.is_empty(), "{again:?}");
    }
}

#[test]
fn a_definition_far_from_its_image_is_that_of_an_image() {
    let far = "Some words.\n\n".repeat(400);
    assert!(!left(&format!("a![b]\n\n{far}[b]: https://e.example")).contains("e.example"));
    let text = left(&format!("[b]: https://e.example\n\n{far}!![b]"));
    assert!(text.contains("e.example") && text.ends_with("\n[b]"), "an image by reference becomes a link");
}

#[test]
fn what_more_text_can_change_waits() {
    for (text, _) in LOADS {
        let whole = none().loads(text, &ReferenceLabels::default());
        let mut end = 0;
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let part = &text[..at];
            let settled = none().unfinished(part);
            let found = none().loads(part, &ReferenceLabels::default());
            let before = |all: &[Range<usize>]| -> Vec<Range<usize>> {
                all.iter().filter(|range| range.end <= settled).cloned().collect()
            };
            assert_eq!(before(&found), before(&whole), "{part}");
            assert!(whole.iter().all(|range| !(range.start < settled && settled < range.end)), "{part} is cut");
            end = end.max(settled);
        }
    }
}

#[test]
fn a_definition_waits_for_an_image_at_the_edge_of_its_reach() {
    let definition = "[b]: https://e.example\n";
    for distance in REACH - 3..REACH {
        let text = format!("{definition}{}![a][b]", ".".repeat(distance - definition.len()));
        for end in text.len() - 6..text.len() {
            assert_eq!(none().unfinished(&text[..end]), 0, "{distance} {end}");
        }
    }
}
