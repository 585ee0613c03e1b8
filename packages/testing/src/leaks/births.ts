import { Stream } from 'node:stream'
import type { Ledger } from './ledger.ts'
import { currentOrigin } from './origin.ts'

interface Birth {
  readonly serial: number
  readonly run: number | undefined
}

/**
 * When things that others attach to came into being. What nobody saw being made was there before anybody watched.
 *
 * A listener on an emitter that a test has made itself goes with it, however long the test keeps it in a variable; one on an
 * emitter that was there before stays for good.
 */
export class Births {
  readonly #births = new WeakMap<object, Birth>()
  readonly #ledger: Ledger

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** Notes that `object` came into being now. */
  note(object: object): void {
    this.#births.set(object, { serial: this.#ledger.nextSerial(), run: currentOrigin().run })
  }

  /** Notes that `object` lives as long as the oldest of `sources`. */
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

  /** Whether somebody saw `object` being made. The standard streams are made when they are first read, and there all along. */
  isKnown(object: object): boolean {
    return this.#births.has(object) && !isStandardStream(object)
  }

  /** Whether `object` was there before `serial`. */
  isBefore(object: object, serial: number): boolean {
    const birth = isStandardStream(object) ? undefined : this.#births.get(object)
    return birth === undefined || birth.serial < serial
  }

  /** Whether `object` was made by the given run of a controller, and so has to go with it anyway. */
  isOfRun(object: object, run: number | undefined): boolean {
    return run !== undefined && !isStandardStream(object) && this.#births.get(object)?.run === run
  }
}

function isStandardStream(object: object): boolean {
  const fd: unknown = object instanceof Stream ? Reflect.get(object, 'fd') : undefined
  return fd === 0 || fd === 1 || fd === 2
}
