//! The fields of an operator's body. Unknown ones are refused. Null counts as absent, except where a
//! field can be removed: there it removes the value.

use rules::outcome::{FieldError, Problem, Refusal};

use crate::http::plumbing::json::{self, Node};

pub struct AdminFields<'a, const N: usize> {
    of: Node<'a>,
    names: [&'static str; N],
    nodes: [Option<Node<'a>>; N],
}

impl<'a, const N: usize> AdminFields<'a, N> {
    /// A whole body with no fields but these.
    pub fn read(sent: &'a [u8], names: [&'static str; N]) -> Result<AdminFields<'a, N>, Refusal> {
        AdminFields::of(&Node::read(sent)?, names)
    }

    /// An object with no fields but these.
    pub fn of(node: &Node<'a>, names: [&'static str; N]) -> Result<AdminFields<'a, N>, Refusal> {
        let nodes = node.only_fields(names)?;
        Ok(AdminFields { of: node.clone(), names, nodes })
    }

    fn sent(&self, name: &str) -> Option<&Node<'a>> {
        let place = self.names.iter().position(|known| *known == name);
        debug_assert!(place.is_some(), "{name} is not one of the names");
        self.nodes[place?].as_ref()
    }

    /// A field that is there and not null.
    pub fn given(&self, name: &str) -> Option<&Node<'a>> {
        self.sent(name).filter(|node| !node.is_null())
    }

    pub fn required(&self, name: &str) -> Result<&Node<'a>, Refusal> {
        self.given(name).ok_or_else(|| FieldError::refused(self.of.join(name), Problem::Missing))
    }

    pub fn whole(&self, name: &str, least: u32, most: u32) -> Result<Option<u32>, Refusal> {
        self.given(name).map(|node| node.whole_within(least, most)).transpose()
    }

    /// A text that must be there.
    pub fn text(&self, name: &'static str, most: usize) -> Result<Box<str>, Refusal> {
        let text = self.given(name).map(Node::text).transpose()?;
        json::text(name, text.as_deref(), most)
    }

    /// A text of a change: absent, it stays as it is.
    pub fn new_text(&self, name: &'static str, most: usize) -> Result<Option<Box<str>>, Refusal> {
        self.given(name).map(|_| self.text(name, most)).transpose()
    }

    /// A field that null removes: nothing was sent, null was sent, or a value.
    pub fn removable<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Node<'a>) -> Result<T, Refusal>,
    ) -> Result<Option<Option<T>>, Refusal> {
        match self.sent(name) {
            None => Ok(None),
            Some(node) if node.is_null() => Ok(Some(None)),
            Some(node) => read(node).map(|value| Some(Some(value))),
        }
    }
}
