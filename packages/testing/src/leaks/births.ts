import { Stream } from 'node:stream'
import type { Ledger } from './ledger.ts'
import { currentOrigin } from './origin.ts'

interface Birth {
  readonly serial: number
  readonly run: number | undefined
}

/**
 * Records when listener targets and similar objects were created. An object without a record existed before the first watch began.
 *
 * A listener on an emitter that the test created is not a leak, even while the test keeps the emitter in a variable. A listener
 * on an older emitter outlives the test.
 */
export class Births {
  readonly #births = new WeakMap<object, Birth>()
  readonly #ledger: Ledger

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** Records that `object` was created now. */
  note(object: object): void {
    this.#births.set(object, { serial: this.#ledger.nextSerial(), run: currentOrigin().run })
  }

  /** Records that `object` lives as long as the oldest of `sources`. */
  noteDerived(object: object, sources: readonly object[]): void {
    const births = sources.map((source) => this.#births.get(source))
    const oldest = births.reduce(
      (a, b) => (a === undefined || b === undefined || a.serial < b.serial ? a : b),
      births[0],
    )
    if (births.length > 0 && births.every((birth) => birth !== undefined) && oldest !== undefined) {
      this.#births.set(object, oldest)
    }
  }

  /** Whether the creation of `object` was recorded. The standard streams never count: Node creates them on first read. */
  isKnown(object: object): boolean {
    return this.#births.has(object) && !isStandardStream(object)
  }

  /** Whether `object` existed before `serial`. */
  isBefore(object: object, serial: number): boolean {
    const birth = isStandardStream(object) ? undefined : this.#births.get(object)
    return birth === undefined || birth.serial < serial
  }

  /** Whether the given run of a controller created `object`, so that `object` must go when the run ends. */
  isOfRun(object: object, run: number | undefined): boolean {
    return run !== undefined && !isStandardStream(object) && this.#births.get(object)?.run === run
  }
}

function isStandardStream(object: object): boolean {
  const fd: unknown = object instanceof Stream ? Reflect.get(object, 'fd') : undefined
  return fd === 0 || fd === 1 || fd === 2
}
