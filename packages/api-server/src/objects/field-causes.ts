import type { FieldCause } from './api-status.ts'
import type { JsonValue } from './json-value.ts'

/** A value that breaks a rule of its field. */
export function invalidValue(field: string, value: JsonValue, why: string): FieldCause {
  return { field, reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(value)}: ${why}` }
}

/** A required field that is missing. */
export function requiredValue(field: string, why = ''): FieldCause {
  return { field, reason: 'FieldValueRequired', message: why === '' ? 'Required value' : `Required value: ${why}` }
}

/** A field that must not be set. */
export function forbiddenValue(field: string, why: string): FieldCause {
  return { field, reason: 'FieldValueForbidden', message: `Forbidden: ${why}` }
}

/** A value that is not in the list of supported values. */
export function unsupportedValue(field: string, value: JsonValue, supported: readonly string[]): FieldCause {
  const told = supported.map((each) => JSON.stringify(each)).join(', ')
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${told}`
  return { field, reason: 'FieldValueNotSupported', message }
}

/** A value that may be there only once. */
export function duplicateValue(field: string, value: JsonValue): FieldCause {
  return { field, reason: 'FieldValueDuplicate', message: `Duplicate value: ${JSON.stringify(value)}` }
}

/** A list with too many items. */
export function tooManyItems(field: string, count: number, maximum: number): FieldCause {
  return { field, reason: 'FieldValueTooMany', message: `Too many: ${count}: must have at most ${maximum} items` }
}

/** A value over its size limit. */
export function tooLongValue(field: string, maximum: number): FieldCause {
  const message = `Too long: may not be more than ${maximum} bytes`
  return { field, reason: 'FieldValueTooLong', message }
}
