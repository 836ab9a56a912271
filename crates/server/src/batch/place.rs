//! A place in the queue.

use std::collections::VecDeque;

use rules::ids::Number;

/// By number: who got theirs at a gateway may come after somebody with a higher one. What has no
/// number stays where it came in, and nobody passes it.
pub fn by_number<T>(queue: &mut VecDeque<T>, new: T, number: impl Fn(&T) -> Option<Number>) {
    let behind = match number(&new) {
        None => 0,
        Some(own) => queue.iter().rev().take_while(|one| number(one).is_some_and(|theirs| theirs > own)).count(),
    };
    queue.insert(queue.len() - behind, new);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_numbers_come_first() {
        let mut queue = VecDeque::new();
        for number in [3, 1, 0, 7, 5, 6, 4] {
            // 0 stands for none.
            by_number(&mut queue, number, |n| (*n > 0).then_some(Number(*n)));
        }
        assert_eq!(queue, [1, 3, 0, 4, 5, 6, 7]);
    }
}
