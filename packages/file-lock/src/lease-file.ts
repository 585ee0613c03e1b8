import { ANNOTATION_PREFIX, type LeaseRecord, LockRequestError } from '@tenure/core'

/** One version of a lease, as its file holds it. */
export interface LeaseFile {
  /** Unique to the write that made this version. */
  readonly write: string
  /** The write that this version replaces; undefined for a lease that was created. */
  readonly base: string | undefined
  readonly record: LeaseRecord
  /** Everything in the file, including what Tenure does not know. */
  readonly fields: Readonly<Record<string, unknown>>
}

/**
 * Reads the content of a version.
 * @throws LockRequestError with failure `rejected` for any content that no lock writes: an unreadable file grants nothing.
 */
export function parseLeaseFile(path: string, content: string): LeaseFile {
  const fields = parseObject(path, content)
  const { holderIdentity, write, base } = fields
  if (typeof holderIdentity !== 'string') throw malformed(path, '`holderIdentity` to be a text', holderIdentity)
  if (typeof write !== 'string' || write === '') throw malformed(path, '`write` to be a text that is not empty', write)
  return {
    write,
    base: typeof base === 'string' ? base : undefined,
    record: {
      holderIdentity,
      leaseDurationSeconds: integer(fields['leaseDurationSeconds']),
      acquireTime: text(fields['acquireTime']),
      renewTime: text(fields['renewTime']),
      leaseTransitions: integer(fields['leaseTransitions']),
      annotations: Object.fromEntries(annotationsOf(fields).filter(([key]) => key.startsWith(ANNOTATION_PREFIX))),
    },
    fields,
  }
}

/** The version that replaces `replaced`, or the first one: the record is new, everything that Tenure does not know is kept. */
export function nextLeaseFile(write: string, replaced: LeaseFile | undefined, record: LeaseRecord): LeaseFile {
  const stored = replaced?.fields ?? {}
  const foreign = annotationsOf(stored).filter(([key]) => !key.startsWith(ANNOTATION_PREFIX))
  const { annotations, ...rest } = record
  const fields = {
    ...stored,
    ...rest,
    annotations: { ...Object.fromEntries(foreign), ...annotations },
    write,
    base: replaced?.write,
  }
  return parseLeaseFile('that is written', JSON.stringify(fields))
}

/** The text of a version. A field that is undefined is left out. */
export function formatLeaseFile(file: LeaseFile): string {
  return `${JSON.stringify(file.fields, null, 2)}\n`
}

function parseObject(path: string, content: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(content)
  } catch (cause) {
    throw malformed(path, 'a JSON object', content, cause)
  }
  if (!isObject(value)) throw malformed(path, 'a JSON object', content)
  return value
}

function annotationsOf(fields: Readonly<Record<string, unknown>>): [string, string][] {
  const { annotations } = fields
  if (!isObject(annotations)) return []
  return Object.entries(annotations).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
}

function malformed(path: string, expected: string, got: unknown, cause?: unknown): LockRequestError {
  const shown = typeof got === 'string' ? got.slice(0, 80) : JSON.stringify(got)
  return new LockRequestError('rejected', `Expected the file ${path} to hold ${expected}, got \`${shown}\``, { cause })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function integer(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? (value as number) : undefined
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
