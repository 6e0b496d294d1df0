//! An object's fields as an announcement or a reliable update holds them: each in bytes of its own (PROTOCOL §4.2).

use samovar_wire::{CloseCode, Reader, Writer};

use crate::object::Object;
use crate::schema::{Coding, Field, Schema};
use crate::state::State;

/// Writes all fields as texts, in the order of the schema.
pub(crate) fn write_fields(object: &Object, schema: Option<&Schema>, out: &mut State) {
    out.clear();
    let Some(schema) = schema else {
        object.texts.iter().for_each(|text| out.text(&text.bytes));
        return;
    };
    let mut bytes = Vec::new();
    for field in schema.fields() {
        bytes.clear();
        out.text(field_bytes(object, field, &mut bytes));
    }
}

/// The bytes of one field.
pub(crate) fn field_bytes<'a>(object: &'a Object, field: &Field, buffer: &'a mut Vec<u8>) -> &'a [u8] {
    if matches!(field.coding, Coding::Text { .. }) {
        return object.texts.get(field.at).map_or(&[], |text| &text.bytes);
    }
    let mut writer = Writer::new(buffer);
    for &number in &object.numbers[field.at..field.at + field.coding.width()] {
        // Small numbers of either sign take few bytes.
        writer.varint(u64::from((number << 1 ^ number >> 31).cast_unsigned()));
    }
    buffer
}

/// Reads the numbers of a field.
///
/// # Errors
/// `Malformed` for bytes that no writer writes.
pub(crate) fn read_numbers(field: &Field, bytes: &[u8], numbers: &mut [i32]) -> Result<(), CloseCode> {
    let mut reader = Reader::new(bytes);
    for place in 0..field.coding.width() {
        let coded = reader.varint_u32().map_err(|_| CloseCode::Malformed)?;
        let number = (coded >> 1).cast_signed() ^ -(coded & 1).cast_signed();
        let (min, max) = field.coding.range(place);
        if number < min || number > max {
            return Err(CloseCode::Malformed);
        }
        numbers[field.at + place] = number;
    }
    reader.end().map_err(|_| CloseCode::Malformed)
}

/// Reads all fields of an announcement into numbers and texts.
///
/// # Errors
/// `Malformed` when they do not match the schema.
pub(crate) fn read_fields<'a>(
    schema: Option<&Schema>,
    fields: impl Iterator<Item = &'a [u8]>,
    state: &mut State,
) -> Result<(), CloseCode> {
    state.clear();
    let Some(schema) = schema else {
        fields.for_each(|field| state.text(field));
        return Ok(());
    };
    let mut numbers = vec![0; schema.numbers()];
    let mut count = 0;
    for (index, bytes) in fields.enumerate() {
        let field = schema.fields().get(index).ok_or(CloseCode::Malformed)?;
        match field.coding {
            Coding::Text { max } if bytes.len() <= usize::from(max) => state.text(bytes),
            Coding::Text { .. } => return Err(CloseCode::Malformed),
            _ => read_numbers(field, bytes, &mut numbers)?,
        }
        count += 1;
    }
    numbers.into_iter().for_each(|number| state.number(number));
    if count == schema.fields().len() { Ok(()) } else { Err(CloseCode::Malformed) }
}
