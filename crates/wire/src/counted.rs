//! Enums that index tables.

/// Declares an enum with `COUNT` and `index()`, so that a table of `COUNT` places has one for each variant. A new
/// variant enlarges the table, so no variant can lack a place.
///
/// ```
/// samovar_wire::counted! {
///     /// A side of the table.
///     #[derive(Clone, Copy)]
///     enum Side {
///         /// Where one sits.
///         Near,
///         /// Where the other sits.
///         Far,
///     }
/// }
/// let mut points = [0; Side::COUNT];
/// points[Side::Far.index()] += 1;
/// assert_eq!((points, Side::Near.index()), ([0, 1], 0));
/// ```
#[macro_export]
macro_rules! counted {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$about:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$about])* $variant),+
        }

        #[allow(dead_code, reason = "not every table is walked and indexed")]
        impl $name {
            /// All variants, in the order of their indices.
            $vis const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant),+];
            /// The number of variants.
            $vis const COUNT: usize = Self::ALL.len();

            /// The variant's place in a table of [`Self::COUNT`] places.
            #[must_use]
            $vis const fn index(self) -> usize {
                self as usize
            }
        }
    };
}
