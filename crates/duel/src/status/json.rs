//! A small JSON writer. A status holds only texts, numbers and lists of them. A library would also add the code that
//! finds the shortest form of every float.

use std::fmt::Write;

/// A JSON text that grows by keys and values. Commas are added automatically.
#[derive(Debug, Default)]
pub(super) struct Json {
    text: String,
}

impl Json {
    /// The written text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Writes a key; its value must follow. Keys are plain words.
    pub(super) fn key(&mut self, key: &str) -> &mut Self {
        self.text(key);
        self.text.push(':');
        self
    }

    /// Writes a text.
    pub(super) fn text(&mut self, text: &str) {
        self.part("\"");
        for letter in text.chars() {
            match letter {
                '"' | '\\' => self.text.extend(['\\', letter]),
                // Writing to a string cannot fail, here and below.
                '\0'..' ' => drop(write!(self.text, "\\u{:04x}", u32::from(letter))),
                _ => self.text.push(letter),
            }
        }
        self.text.push('"');
    }

    /// Writes a whole number.
    pub(super) fn count(&mut self, count: impl Into<u64>) {
        self.part("");
        let _ = write!(self.text, "{}", count.into());
    }

    /// Writes a number, rounded to millionths; null if it is not finite, or is 10¹³ or more.
    pub(super) fn number(&mut self, number: impl Into<f64>) {
        let number = number.into();
        let millionths = (number.abs() * 1e6).round();
        if millionths.is_nan() || millionths >= 1e19 {
            return self.null();
        }
        let (whole, rest) = (millionths as u64 / 1_000_000, millionths as u64 % 1_000_000);
        self.part(if number < 0.0 && millionths > 0.0 { "-" } else { "" });
        let _ = write!(self.text, "{whole}");
        if rest > 0 {
            let _ = write!(self.text, ".{rest:06}");
            let length = self.text.trim_end_matches('0').len();
            self.text.truncate(length);
        }
    }

    /// Writes true or false.
    pub(super) fn flag(&mut self, flag: bool) {
        self.part(if flag { "true" } else { "false" });
    }

    /// Writes null.
    pub(super) fn null(&mut self) {
        self.part("null");
    }

    /// Writes a value, or null.
    pub(super) fn maybe<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => write(self, value),
            None => self.null(),
        }
    }

    /// Writes a list; `write` writes one value.
    pub(super) fn list<T>(
        &mut self,
        values: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.part("[");
        values.into_iter().for_each(|value| write(self, value));
        self.text.push(']');
    }

    /// Writes an object; `write` writes its keys and values.
    pub(super) fn object(&mut self, write: impl FnOnce(&mut Self)) {
        self.part("{");
        write(self);
        self.text.push('}');
    }

    /// Begins a key or value, with a comma if needed. Only the last character decides this. A text ends with a
    /// quotation mark, so its content cannot mislead the check.
    fn part(&mut self, beginning: &str) {
        if !self.text.is_empty() && !self.text.ends_with(['{', '[', ':']) {
            self.text.push(',');
        }
        self.text.push_str(beginning);
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a_library_reads_the_written_json() {
        let mut json = Json::default();
        json.object(|json| {
            json.key("name").text("a \"b\" \\ c\n{[: é");
            json.key("none").maybe(None, Json::text);
            json.key("lists").list([vec![1_u8, 2], vec![]], |json, list| json.list(list, Json::count));
            json.key("inner").object(|json| json.key("flag").flag(true));
            json.key("empty").object(|_| {});
        });
        let read: serde_json::Value = serde_json::from_str(&json.into_text()).unwrap();
        let wanted = serde_json::json!({
            "name": "a \"b\" \\ c\n{[: é", "none": null, "lists": [[1, 2], []], "inner": { "flag": true }, "empty": {},
        });
        assert_eq!(read, wanted);
    }

    #[test]
    fn numbers_are_rounded_to_millionths() {
        let numbers = [
            0.0,
            3.0,
            -1.5,
            0.1_f32.into(),
            84210.113,
            -1e-7,
            -0.000_001,
            1e12,
            1e13,
            f64::NAN,
            f64::NEG_INFINITY,
        ];
        let mut json = Json::default();
        json.list(numbers, Json::number);
        assert_eq!(json.into_text(), "[0,3,-1.5,0.1,84210.113,0,-0.000001,1000000000000,null,null,null]");
    }
}
