//! An address as a QR code for a terminal, two modules per character.

use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;

/// White on black whatever the terminal's own colours are: the light modules are what is drawn.
const PAINT: (&str, &str) = ("\x1b[97;40m", "\x1b[0m");

/// None: too long for a code.
pub fn code(address: &str, colours: bool) -> Option<String> {
    let code = QrCode::new(address).ok()?;
    let drawn = code.render::<Dense1x2>().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build();
    if !colours {
        return Some(drawn);
    }
    let (on, off) = PAINT;
    Some(drawn.lines().map(|line| format!("{on}{line}{off}")).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The modules, dark or not, of a code with its quiet zone of four.
    fn modules(drawn: &str) -> Vec<Vec<bool>> {
        let half = |upper: bool| move |c: char| !matches!((c, upper), ('█', _) | ('▀', true) | ('▄', false));
        drawn.lines().flat_map(|line| [true, false].map(|upper| line.chars().map(half(upper)).collect())).collect()
    }

    #[test]
    fn three_corners_have_their_squares() {
        let rows = modules(&code("http://192.168.0.17:5800", false).unwrap());
        let size = rows[0].len() - 8;
        assert_eq!(size, 25, "version 2 has room for the address");
        let square = |x: usize, y: usize| -> String {
            let line = |dy: usize| (0..7).map(move |dx| (dx, dy)).collect::<Vec<_>>();
            (0..7).flat_map(line).map(|(dx, dy)| if rows[4 + y + dy][4 + x + dx] { '#' } else { '.' }).collect()
        };
        let wanted = "########.....##.###.##.###.##.###.##.....########";
        assert_eq!([square(0, 0), square(size - 7, 0), square(0, size - 7)], [wanted; 3]);
        assert!(rows[..4].iter().flatten().all(|dark| !dark), "the quiet zone is light");
    }

    #[test]
    fn colours_wrap_each_line() {
        let painted = code("http://10.0.0.1:1", true).unwrap();
        assert!(painted.lines().all(|line| line.starts_with(PAINT.0) && line.ends_with(PAINT.1)));
        assert_eq!(painted.replace(PAINT.0, "").replace(PAINT.1, ""), code("http://10.0.0.1:1", false).unwrap());
    }
}
