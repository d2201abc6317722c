//! Unpacks what distributions pack: kernels and modules. Told by the first bytes, not by names.
//!
//! Sources: the .xz file format (section 2.1.1.1), RFC 8878 (Zstandard, section 3.1.1), and the LZ4 frame format's
//! "legacy frame", which kernels use, with the size of the content behind it.

use std::io::Read;

/// More than any kernel unpacks to, in bytes.
const LARGEST: u64 = 1 << 30;

const XZ: &[u8] = b"\xfd7zXZ\0";
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const LZ4_LEGACY: &[u8] = &[0x02, 0x21, 0x4c, 0x18];

/// The content, where the packing is one of the three and nothing is damaged.
pub(super) fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    if packed.starts_with(XZ) {
        whole(lzma_rust2::XzReader::new(packed, false))
    } else if packed.starts_with(ZSTD) {
        whole(ruzstd::decoding::StreamingDecoder::new(packed).ok()?)
    } else if packed.starts_with(LZ4_LEGACY) {
        let frame = packed.get(..packed.len().checked_sub(4)?)?;
        whole(lz4_flex::frame::FrameDecoder::new(frame))
    } else {
        None
    }
}

fn whole(reader: impl Read) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    reader.take(LARGEST).read_to_end(&mut content).ok()?;
    Some(content)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) const PLAIN: &[u8] = b"tollway";
    /// By `xz --check=crc32 --lzma2=dict=1MiB`, as the kernel's build packs modules.
    const XZ: &[u8] = &[
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00, 0x21, 0x01, 0x10,
        0x00, 0x00, 0x00, 0xa8, 0x70, 0x8e, 0x86, 0x01, 0x00, 0x06, 0x74, 0x6f, 0x6c, 0x6c, 0x77, 0x61, 0x79,
        0x00, 0x00, 0x95, 0xa9, 0x5a, 0x55, 0x00, 0x01, 0x1b, 0x07, 0x12, 0xeb, 0xd4, 0x17, 0x90, 0x42, 0x99,
        0x0d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a,
    ];
    /// By `zstd -19`.
    pub(in super::super) const ZSTD: &[u8] = &[
        0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x07, 0x39, 0x00, 0x00, 0x74, 0x6f, 0x6c, 0x6c, 0x77, 0x61, 0x79, 0x62,
        0xbb, 0x3f, 0x45,
    ];
    /// By `lz4 -l`, and the size behind it.
    const LZ4: &[u8] = &[
        0x02, 0x21, 0x4c, 0x18, 0x08, 0x00, 0x00, 0x00, 0x70, 0x74, 0x6f, 0x6c, 0x6c, 0x77, 0x61, 0x79, 7, 0,
        0, 0,
    ];

    #[test]
    fn what_the_usual_programs_packed_is_unpacked() {
        for packed in [XZ, ZSTD, LZ4] {
            assert_eq!(unpacked(packed).unwrap(), PLAIN, "{packed:x?}");
        }
        // A kernel's build appends the size to these two as well.
        for packed in [XZ, ZSTD] {
            assert_eq!(unpacked(&[packed, &[7, 0, 0, 0]].concat()).unwrap(), PLAIN);
        }
    }

    #[test]
    fn what_is_damaged_or_packed_otherwise_is_none() {
        assert_eq!(unpacked(b""), None);
        assert_eq!(unpacked(b"\x1f\x8b\x08"), None);
        for packed in [XZ, ZSTD, LZ4] {
            for end in 0..packed.len() - 4 {
                assert_ne!(unpacked(&packed[..end]).as_deref(), Some(PLAIN), "cut at {end}");
            }
        }
        let mut damaged = XZ.to_vec();
        damaged[28] ^= 1;
        assert_eq!(unpacked(&damaged), None);
    }
}
