//! One gzip member made of parts that were compressed separately. Each part is a raw deflate stream that
//! ends on a byte boundary and refers to nothing before it, so parts can be concatenated. The checksums
//! are combined, not computed again. (Several members in a row would be valid too, but some clients stop
//! after the first.)

use flate2::{Compress, Compression, FlushCompress};
use salvo::hyper::body::Bytes;

/// Fixed by RFC 1952: no name, no time, unknown system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// An empty last block.
const LAST: [u8; 2] = [3, 0];

#[derive(Debug)]
pub struct Deflated {
    bytes: Bytes,
    sum: crc32fast::Hasher,
    length: u32,
}

impl Deflated {
    pub fn of(text: &[u8]) -> Deflated {
        let mut bytes = Vec::with_capacity(text.len() / 6 + 64);
        let mut deflate = Compress::new(Compression::fast(), false);
        loop {
            let read = deflate.total_in() as usize;
            // It writes into a buffer with enough room: only a broken stream of our own could cause an
            // error.
            let _ = deflate.compress_vec(&text[read..], &mut bytes, FlushCompress::Full);
            if bytes.len() < bytes.capacity() {
                break;
            }
            bytes.reserve(bytes.capacity());
        }
        bytes.shrink_to_fit();
        let mut sum = crc32fast::Hasher::new();
        sum.update(text);
        Deflated { bytes: bytes.into(), sum, length: text.len() as u32 }
    }
}

/// A member that parts are appended to.
#[derive(Debug, Default)]
pub struct Member {
    sum: crc32fast::Hasher,
    length: u32,
    begun: bool,
}

impl Member {
    /// The header, on the first call only.
    pub fn begins(&mut self) -> Option<Bytes> {
        (!std::mem::replace(&mut self.begun, true)).then(|| Bytes::from_static(&HEAD))
    }

    pub fn join(&mut self, part: &Deflated) -> Bytes {
        self.sum.combine(&part.sum);
        // RFC 1952: modulo 2^32.
        self.length = self.length.wrapping_add(part.length);
        part.bytes.clone()
    }

    pub fn end(self) -> Bytes {
        let mut tail = LAST.to_vec();
        tail.extend(self.sum.finalize().to_le_bytes());
        tail.extend(self.length.to_le_bytes());
        tail.into()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn unpacked<'a>(parts: impl IntoIterator<Item = &'a Deflated>) -> Vec<u8> {
        let mut member = Member::default();
        let mut packed = member.begins().unwrap().to_vec();
        parts.into_iter().for_each(|part| packed.extend(member.join(part)));
        packed.extend(member.end());
        let mut text = Vec::new();
        // Reads one member only, and fails unless its checksum and length are right.
        let mut member = flate2::bufread::GzDecoder::new(&packed[..]);
        member.read_to_end(&mut text).unwrap();
        assert!(member.into_inner().is_empty(), "nothing follows the member");
        text
    }

    #[test]
    fn parts_form_one_member() {
        let texts: Vec<Vec<u8>> = (0..20u32)
            .map(|i| (0..i * 997).flat_map(|j| (i * j).to_string().into_bytes()).collect())
            .chain([b"x".to_vec(), Vec::new()])
            .collect();
        let parts: Vec<Deflated> = texts.iter().map(|text| Deflated::of(text)).collect();
        assert_eq!(unpacked(&parts), texts.concat());
        assert_eq!(unpacked([]), b"");
    }

    /// Incompressible data needs more room than the first guess.
    #[test]
    fn incompressible_data_round_trips() {
        let mut x = 1u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (x >> 33) as u8
        })
        .take(100_000)
        .collect();
        assert_eq!(unpacked([&Deflated::of(&noise)]), noise);
    }
}
