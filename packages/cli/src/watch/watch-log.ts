import type { PresentLease } from '@tenure/core'
import { isJsonObject, type JsonObject } from '@tenure/kubernetes/internal'
import { leaseKey, storedLease } from '../cluster/leases.ts'
import { printable } from '../status/table.ts'
import { changeLine } from './change-line.ts'
import { changesOf, expiryLine, type LeaseHistory } from './lease-changes.ts'

/** One sighting as it is recorded: a line of JSON. */
export interface RecordedSighting {
  /** RFC 3339. */
  readonly at: string
  readonly lease: string
  /** The Lease; absent if it does not exist. */
  readonly object?: JsonObject
}

/** Prints what happens to leases. The same for a cluster as for a recording. */
export class WatchLog {
  readonly #print: (line: string) => void
  readonly #histories = new Map<string, LeaseHistory>()
  readonly #expired = new Set<string>()

  constructor(print: (line: string) => void) {
    this.#print = print
  }

  /** Takes a sighting in. */
  take({ at, lease: key, object }: RecordedSighting): void {
    const time = Date.parse(at)
    this.expire(time)
    const { changes, history } = changesOf(this.#histories.get(key), { at: time, lease: leaseOf(object) })
    if (history.changedAt === time) this.#expired.delete(key)
    this.#histories.set(key, history)
    for (const change of changes) this.#say(time, key, changeLine(change))
  }

  /** Tells once of each lease that has expired by now. */
  expire(time: number): void {
    for (const [key, history] of this.#histories) {
      const line = this.#expired.has(key) ? undefined : expiryLine(history, time)
      if (line === undefined) continue
      this.#expired.add(key)
      this.#say(time, key, line)
    }
  }

  #say(time: number, key: string, line: string): void {
    this.#print(`${new Date(time).toISOString()}  ${printable(`${key}  ${line}`)}\n`)
  }
}

/** The lease of a sighting; undefined if it does not exist. */
export function leaseOf(object: JsonObject | undefined): PresentLease | undefined {
  return object === undefined ? undefined : storedLease(object)?.lease
}

/** The record of a sighting of a stored lease. */
export function sightingOf(
  namespace: string,
  name: string,
  seen: { readonly wallTime: number; readonly object?: JsonObject },
): RecordedSighting {
  const { wallTime, object } = seen
  return { at: new Date(wallTime).toISOString(), lease: leaseKey(namespace, name), ...(object && { object }) }
}

/** Parses one line of a recording; undefined if it is none. */
export function parseSighting(line: string): RecordedSighting | undefined {
  const { at, lease, object } = tryParse(line)
  if (typeof at !== 'string' || Number.isNaN(Date.parse(at)) || typeof lease !== 'string') return undefined
  if (object === undefined) return { at, lease }
  return isJsonObject(object) && storedLease(object) !== undefined ? { at, lease, object } : undefined
}

function tryParse(line: string): JsonObject {
  try {
    const value: unknown = JSON.parse(line)
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}
