//! Lists that a wait fills.

/// A type for what the last wait returned. An element is a record of the C library.
macro_rules! room {
    ($(#[$about:meta])* $name:ident: [$element:ident = $record:ident], $what:literal) => {
        $(#[$about])*
        pub struct $name {
            list: Vec<$element>,
        }

        impl $name {
            #[doc = concat!("Room for this many ", $what, ", at least 1.")]
            /// What does not fit is returned by the next wait.
            pub fn with_capacity(capacity: usize) -> $name {
                $name { list: Vec::with_capacity(capacity.clamp(1, i32::MAX as usize)) }
            }

            #[doc = concat!("The ", $what, " of the last wait.")]
            pub fn iter(&self) -> std::slice::Iter<'_, $element> {
                self.list.iter()
            }

            /// How many the last wait returned.
            pub fn len(&self) -> usize {
                self.list.len()
            }

            /// Did the last wait return none?
            pub fn is_empty(&self) -> bool {
                self.list.is_empty()
            }

            /// Lets `call` write records, as many as there is room for; it returns how many.
            pub(crate) fn fill(
                &mut self,
                call: impl FnOnce(*mut sys::$record, i32) -> std::io::Result<i32>,
            ) -> std::io::Result<usize> {
                self.list.clear();
                let room = self.list.capacity().min(i32::MAX as usize) as i32;
                let count = call(self.list.as_mut_ptr().cast(), room)? as usize;
                // So many were written, and an element is a record.
                unsafe { self.list.set_len(count) };
                Ok(count)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_list().entries(self).finish()
            }
        }

        impl<'a> IntoIterator for &'a $name {
            type Item = &'a $element;
            type IntoIter = std::slice::Iter<'a, $element>;
            fn into_iter(self) -> Self::IntoIter {
                self.iter()
            }
        }
    };
}
pub(crate) use room;
