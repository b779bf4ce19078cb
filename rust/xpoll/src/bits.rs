//! Sets of bits with names.

/// A type for a set of bits, with the set operations and a `Debug` that names its members.
macro_rules! bits {
    ($(#[$about:meta])* $name:ident: $($(#[$doc:meta])* $bit:ident = $value:ident,)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub(crate) u32);

        impl $name {
            $($(#[$doc])* pub const $bit: $name = $name(sys::$value);)*

            /// No bit.
            pub const fn empty() -> Self {
                Self(0)
            }

            /// Is no bit set?
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Are all bits of `other` set?
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// The number that the C library has for it.
            pub const fn bits(self) -> u32 {
                self.0
            }
        }

        impl std::ops::BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl std::ops::BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                self.0 |= other.0;
            }
        }

        impl std::ops::BitAnd for $name {
            type Output = Self;
            fn bitand(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut rest = self.0;
                let mut between = "";
                $(if self.contains(Self::$bit) {
                    write!(f, "{between}{}", stringify!($bit))?;
                    between = " | ";
                    rest &= !Self::$bit.0;
                })*
                match rest {
                    0 if between.is_empty() => f.write_str("(empty)"),
                    0 => Ok(()),
                    _ => write!(f, "{between}{rest:#x}"),
                }
            }
        }
    };
}

pub(crate) use bits;
