//! Ages as kubectl prints them.

use jiff::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// How long ago something was, in one unit or two, the second only where it tells something.
///
/// A moment in the future, which clocks that differ can make, is `0s` up to two seconds and `<invalid>` beyond.
pub fn since(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - then.as_second();
    let two = |big: i64, unit: char, small: i64, smaller: char| {
        let rest = seconds % big / small;
        if rest == 0 { format!("{}{unit}", seconds / big) } else { format!("{}{unit}{rest}{smaller}", seconds / big) }
    };
    match seconds {
        ..-1 => "<invalid>".into(),
        -1 => "0s".into(),
        0..120 => format!("{seconds}s"),
        120..600 => two(MINUTE, 'm', 1, 's'),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(HOUR, 'h', MINUTE, 'm'),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(DAY, 'd', HOUR, 'h'),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(YEAR, 'y', DAY, 'd'),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// The age, or `<unknown>`.
pub fn of(then: Option<Timestamp>, now: Timestamp) -> String {
    then.map_or_else(|| "<unknown>".into(), |then| since(then, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages() {
        for (seconds, expected) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 5 * MINUTE, "3h5m"),
            (8 * HOUR, "8h"),
            (2 * DAY - 1, "47h"),
            (2 * DAY, "2d"),
            (2 * DAY + 3 * HOUR, "2d3h"),
            (8 * DAY, "8d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR, "2y"),
            (2 * YEAR + 10 * DAY, "2y10d"),
            (8 * YEAR, "8y"),
        ] {
            let now = Timestamp::from_second(2_000_000_000).unwrap();
            let then = Timestamp::from_second(2_000_000_000 - seconds).unwrap();
            assert_eq!(since(then, now), expected, "{seconds}");
        }
    }
}
