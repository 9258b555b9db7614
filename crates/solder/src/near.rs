//! Words that are nearly the same.

/// Longer words are not compared: the time grows with the square of the length.
const LONGEST: usize = 1024;

/// The number of insertions, removals and replacements, if it is at most `most`.
pub fn distance(a: &[u8], b: &[u8], most: usize) -> Option<usize> {
    if most == 0 || a.len() > LONGEST || a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
        if row.iter().all(|cost| *cost > most) {
            return None;
        }
    }
    Some(row[b.len()]).filter(|cost| *cost <= most)
}

/// The word that was most likely meant: the nearest one, or the only one that begins with what was written.
pub fn nearest<'a>(wanted: &str, words: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let lower = wanted.to_lowercase();
    let most = (wanted.len() / 3).clamp(1, 3);
    let cost = |word: &str| distance(word.to_lowercase().as_bytes(), lower.as_bytes(), most);
    let near = words.clone().filter_map(|word| Some((cost(word)?, word))).min_by_key(|(cost, _)| *cost);
    let begun = || {
        let mut begun = words.filter(|word| lower.len() > 2 && word.to_lowercase().starts_with(&lower));
        begun.next().filter(|_| begun.next().is_none())
    };
    near.map(|(_, word)| word).or_else(begun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance(b"scale", b"scales", 1), Some(1));
        assert_eq!(distance(b"sclae", b"scale", 2), Some(2));
        assert_eq!(distance(b"abc", b"xyz", 2), None);
        assert_eq!(distance(b"abc", b"abcdef", 2), None);
    }

    #[test]
    fn words() {
        let words = || ["completions", "inspect", "shadow"].into_iter();
        assert_eq!(nearest("inspct", words()), Some("inspect"));
        assert_eq!(nearest("Shadow", words()), Some("shadow"));
        assert_eq!(nearest("comp", words()), Some("completions"));
        assert_eq!(nearest("link", words()), None);
    }
}
