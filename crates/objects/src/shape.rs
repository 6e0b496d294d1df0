//! The shape of a type: all that the bits of its packed values depend on, and the names of its parts.

use samovar_wire::digest;

use crate::schema::Coding;

/// The shape of a type, put together by [`Pack::shape`](crate::Pack::shape). Programs whose types have the same shapes
/// read each other's values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape(Vec<u8>);

impl Shape {
    /// Appends the name of a type or of one of its parts.
    pub fn word(&mut self, word: &str) {
        self.number(word.len() as u32);
        self.0.extend(word.bytes());
    }

    /// Appends the bound of a list or a string, or the number of variants.
    pub fn number(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    /// Appends the coding of numbers.
    pub fn coding(&mut self, coding: &Coding) {
        self.0.extend(coding.bytes());
    }

    /// A number to fold into a game's parameters. It differs for shapes that differ.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let digest = digest(&[b"samovar shape", &self.0]);
        u64::from_le_bytes(*digest.first_chunk().expect("a digest has 32 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::Pack;
    use crate::quantise::Grid;
    use crate::{Packer, pack};
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn shape<T: Pack>() -> u64 {
        let mut shape = Shape::default();
        T::shape(&mut shape);
        shape.hash()
    }

    #[test]
    fn types_that_are_read_differently_have_different_shapes() {
        let all = [
            shape::<()>(),
            shape::<u32>(),
            shape::<i32>(),
            shape::<Option<u32>>(),
            shape::<[u32; 2]>(),
            shape::<[u32; 3]>(),
            shape::<(u32, u32)>(),
            shape::<[Option<u32>; 2]>(),
            shape::<Option<[u32; 2]>>(),
        ];
        for (place, one) in all.iter().enumerate() {
            assert!(!all[..place].contains(one), "{place}");
        }
        assert_eq!(shape::<(u32, u16)>(), shape::<(u32, u16)>());
    }

    #[test]
    fn range_and_precision_belong_to_the_shape() {
        let of = |max: f64, precision: f64| {
            let mut shape = Shape::default();
            let number = pack::Number(Grid::of::<f32>(0.0, max, precision));
            Packer::<f32>::shape(&number, &mut shape);
            shape.hash()
        };
        assert_ne!(of(10.0, 0.1), of(11.0, 0.1));
        assert_ne!(of(10.0, 0.1), of(20.0, 0.2));
        assert_eq!(of(10.0, 0.1), of(10.0, 0.1));
    }
}
