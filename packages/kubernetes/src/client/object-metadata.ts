import { isJsonObject, objectAt, stringAt } from '../json-object.ts'

const DECIMAL = /^(?:0|[1-9]\d{0,30})$/

/** The resource version of an object or a list, if it is a decimal number, as Kubernetes guarantees for its own resources. */
export function parseVersion(object: unknown): bigint | undefined {
  if (!isJsonObject(object)) return undefined
  const version = stringAt(objectAt(object, 'metadata'), 'resourceVersion')
  return version === undefined ? undefined : parseDecimal(version)
}

/** A resource version as a number; undefined if it is not a decimal number. */
export function parseDecimal(version: string): bigint | undefined {
  return DECIMAL.test(version) ? BigInt(version) : undefined
}

/** The `metadata.name` of an object. */
export function nameOf(object: unknown): string | undefined {
  return isJsonObject(object) ? stringAt(objectAt(object, 'metadata'), 'name') : undefined
}
