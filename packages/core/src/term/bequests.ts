import { type Bequest, type Legacy, MAX_VALUES_BYTES, OTHER_COLLECTIONS } from '../election/rules/bequest.ts'
import { OptionsError } from '../options/options-error.ts'
import { isSameAsParsed } from '../ports/node-modules.ts'

/** The most bytes of JSON that one controller may bequeath. */
const MAX_VALUE_BYTES = 4096

const CALL = '`value` of `term.bequeath(value)`'

/** What earlier terms left to a term, and what it leaves itself. One per term. */
export class Bequests {
  /** What earlier terms left. */
  readonly legacy: Legacy
  readonly #values = new Map<string, string>()
  readonly #versions = new Map<string, string>()
  #isLeft = false

  constructor(legacy: Legacy) {
    this.legacy = legacy
  }

  /** Whether the term has left what it leaves. Nothing that comes later is written. */
  get isLeft(): boolean {
    return this.#isLeft
  }

  /** Keeps the value for the next term of this controller. @throws OptionsError when it is no JSON value, or too large. */
  bequeath(controller: string, value: unknown): void {
    const json = jsonOf(value)
    const bytes = Buffer.byteLength(json)
    const others = Array.from(this.#values, ([name, other]) => (name === controller ? 0 : Buffer.byteLength(other)))
    const total = others.reduce((sum, other) => sum + other, bytes)
    if (total > MAX_VALUES_BYTES)
      throw new OptionsError(
        `Expected the values of all controllers of a lease to have at most ${MAX_VALUES_BYTES} bytes of JSON, got ${total} bytes ` +
          `with ${CALL} of controller \`${controller}\``,
      )
    this.#values.set(controller, json)
  }

  /**
   * Notes the version that an acknowledged write made, or a read that shows every earlier write. `version` is empty if it is not known.
   * Such a collection stays unknown.
   */
  noteVersion(collection: string, version: string): void {
    this.#versions.set(collection, greater(this.#versions.get(collection) ?? version, version))
  }

  /** What the term leaves. It passes on the versions of earlier terms that its own do not replace. */
  leave(epoch: bigint): Bequest {
    this.#isLeft = true
    const earlier = this.legacy.versions ?? [[OTHER_COLLECTIONS, '']]
    return { epoch, values: new Map(this.#values), versions: new Map([...earlier, ...this.#versions]) }
  }
}

/** The greater of two resource versions; none if they cannot be compared. */
function greater(a: string, b: string): string {
  const [first, second] = [comparableVersion(a), comparableVersion(b)]
  if (first === undefined || second === undefined) return ''
  return first > second ? a : b
}

/** A resource version as Kubernetes compares it: a decimal number without leading zeros (KEP-5504). Undefined for any other. */
export function comparableVersion(version: string): bigint | undefined {
  return /^[1-9]\d{0,19}$/.test(version) ? BigInt(version) : undefined
}

function jsonOf(value: unknown): string {
  const json = checked(value, () => JSON.stringify(value) as string | undefined)
  if (json !== undefined) assertSize(json)
  if (json === undefined || !checked(value, () => isSameAsParsed(JSON.parse(json), value)))
    throw OptionsError.expected(`${CALL} to be a JSON value, which is the same when it is read again`, value)
  return json
}

function assertSize(json: string): void {
  const bytes = Buffer.byteLength(json)
  if (bytes > MAX_VALUE_BYTES)
    throw new OptionsError(`Expected ${CALL} to have at most ${MAX_VALUE_BYTES} bytes of JSON, got ${bytes} bytes`)
}

/** The result of a check, which may run code of the value. */
function checked<T>(value: unknown, check: () => T): T {
  try {
    return check()
  } catch (cause) {
    throw OptionsError.expected(`${CALL} to be a JSON value`, value, { cause })
  }
}
