//! Tests of the matching view.

use super::*;

fn view(text: &str) -> String {
    MatchingView::of(text).map_or_else(|| text.to_owned(), |v| v.text().to_owned())
}

#[test]
fn what_a_reader_sees() {
    for (text, expected) in [
        ("4012\u{a0}8888  8888\t1881", "4012 8888 8888 1881"),
        ("you should\nbuy", "you should buy"),
        ("you should\r\n   buy", "you should buy"),
        ("a\n\nb", "a\n\nb"),
        ("a\n \n\nb", "a\n\nb"),
        ("a\n>\n> b", "a\n\nb"),
        ("> pay 12\n> > 34", "pay 12 34"),
        ("**4012** _8888_ `8888` ~~1881~~", "4012 8888 8888 1881"),
        ("2 * 3 ** 4", "2 * 3 ** 4"),
        ("snake_case 4012_8888", "snake case 4012_8888"),
        ("| 4012 | 8888 |", "4012 8888 "),
        ("- a\n- b", "a b"),
        ("\u{2022} a\n\u{2022} b", "a b"),
        ("4012&nbsp;<b>8888</b>&#8209;1881", "4012 8888-1881"),
        ("40<!-- x > y -->12<wbr>88<br>99", "401288 99"),
        ("<jane@example.org>", "<jane@example.org>"),
        ("a < b > c", "a < b > c"),
        ("[4012](/x) [b][c] d[^1] 203[.]0", "4012 b d 203.0"),
        ("4012\\,8888~8888\\quad 1881", "4012 8888 8888 1881"),
        ("\\textbf{4012} {\\bf 88} $+1$ \\hspace{2pt}x", "4012 88 +1 x"),
        ("$120 $345", "$120 $345"),
        ("C:\\new\\x", "C:\\new\\x"),
        ("a\\@b\\.c", "a@b.c"),
        ("y\u{200b}ou \u{ff42}\u{ff55}\u{ff59}", "you buy"),
        ("219\u{2013}\u{200b}09 --- 7", "219-09 - 7"),
        ("attorney-\nclient", "attorney-client"),
        ("4\u{336}0\u{336}", "40"),
        ("\u{1b}[1m40\u{1b}[0m12\u{0}", "4012"),
        ("x\u{b2} CO\u{2082} \u{bd}", "x\u{b2} CO\u{2082} \u{bd}"),
        ("nai\u{308}ve na\u{ef}ve", "naive na\u{ef}ve"),
    ] {
        assert_eq!(view(text), expected, "{text:?}");
    }
}

#[test]
fn plain_text_has_no_view() {
    for text in ["", "Plain text, with (brackets), a-b and 1/2 + 3 > 2 = 2; #1.", "It's 5% [sic]."] {
        assert_eq!(MatchingView::of(text), None, "{text:?}");
    }
}

/// For ASCII texts with line breaks and some markup, the fast path and the full rules give the same view.
#[test]
fn line_breaks_alone_are_seen_as_with_all_rules() {
    const PARTS: &[&str] = &["a", "b-", "\n", "\n", "\n\n", " ", "4012", ".", "-", ">", "#", "*", "(", "%", "+"];
    let mut state = 1u64;
    let mut aligned = 0;
    for number in 0..50_000 {
        let mut text = String::new();
        for _ in 0..number % 10 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text += PARTS[usize::try_from(state >> 33).unwrap() % PARTS.len()];
        }
        let full = build::build(&text);
        let Some(short) = MatchingView::of(&text) else {
            assert_eq!(full.text, text);
            continue;
        };
        assert_eq!(short.text, full.text, "{text:?}");
        for at in 0..short.text.len() {
            assert_eq!(short.origin(&(at..at + 1)), full.origin(&(at..at + 1)), "{text:?} at {at}");
        }
        assert_eq!((&short.lines, &short.borders), (&full.lines, &full.borders), "{text:?}");
        if short.is_aligned() {
            let differs: Vec<usize> =
                (0..text.len()).filter(|at| text.as_bytes()[*at] != short.text.as_bytes()[*at]).collect();
            assert_eq!(
                differs,
                (0..text.len()).filter(|at| short.differs_in(&(*at..at + 1))).collect::<Vec<_>>(),
                "{text:?}"
            );
        }
        aligned += usize::from(short.is_aligned());
    }
    assert!(aligned > 1000, "{aligned}");
}

#[test]
fn every_byte_of_the_view_leads_back() {
    let text = "My **4012** &nbsp;\u{ff18}888\u{2014}x | y";
    let view = MatchingView::of(text).unwrap();
    let at = view.text().find("4012 8888-x").unwrap();
    let origin = view.origin(&(at..at + 11));
    assert_eq!(&text[origin], "4012** &nbsp;\u{ff18}888\u{2014}x");
    let y = view.text().find('y').unwrap();
    assert!(view.text().is_char_boundary(y));
    assert!(view.crosses_border(&(at..view.text().len())) && !view.crosses_border(&(at..at + 11)));
}
