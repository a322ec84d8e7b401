use portcullis_prefilter::*;
#[test]
fn dev() {
    let f = Prefilter::new(Policy::profile("user-prompt").unwrap()).unwrap();
    let show = std::env::var("SHOW").is_ok();
    for p in std::env::var("DATA").unwrap().split(' ') {
        let t = std::fs::read_to_string(p).unwrap();
        let (mut n, mut r, mut ns, mut rs) = (0, 0, 0, 0);
        for l in t.lines() {
            let text = if p.ends_with(".txt") { l.to_owned() } else {
                let v: serde_json::Value = serde_json::from_str(l).unwrap();
                v["text"].as_str().or(v["output"].as_str()).unwrap().to_owned() };
            n += 1;
            let rep = f.report(text.as_bytes());
            let short = text.len() < 800;
            ns += short as usize;
            if !rep.is_executive() { r += 1; rs += short as usize;
                if show { println!("{:?} {}", rep.violations().map(|v| (&v.id, &text[v.start..v.end])).collect::<Vec<_>>(), &text.chars().take(90).collect::<String>()); } }
        }
        println!("{} {}/{} = {:.1}%  short {}/{}", p.rsplit('/').next().unwrap(), r, n, 100.0 * r as f64 / n as f64, rs, ns);
    }
}
