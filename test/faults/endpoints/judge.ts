/** What the versions of a slice say about the replicas whose lives are known. Times are in milliseconds on one monotonic clock. */
import type { SliceVersion } from './slice-watch.ts'

/** A replica from when it was first seen in the slice until its end was requested, or it was hurt. */
export interface Life {
  readonly address: string
  readonly from: number
  readonly to: number
}

/** A replica that has ended, and by when the slice must be without it. */
export interface Death {
  readonly address: string
  readonly by: number
}

/** A time in which the slice was wrong about a replica. */
export interface Wrong {
  readonly address: string
  readonly from: number
  readonly ms: number
}

type Seen = Pick<SliceVersion, 'at' | 'addresses' | 'listed'>

/** The times in which a living replica was absent. */
export function absences(versions: readonly Seen[], lives: readonly Life[]): readonly Wrong[] {
  return lives.flatMap(({ address, from, to }) =>
    joined(
      address,
      spans(versions, from, to).filter(({ addresses }) => !addresses.includes(address)),
    ),
  )
}

/** The times in which a dead replica was still present, ready or not, from when the slice should have been without it. */
export function lingering(versions: readonly Seen[], deaths: readonly Death[], now: number): readonly Wrong[] {
  return deaths.flatMap(({ address, by }) =>
    joined(
      address,
      spans(versions, by, now).filter(({ listed }) => listed.includes(address)),
    ),
  )
}

/** How long the slice was empty while a replica lived. */
export function emptyMs(versions: readonly Seen[], lives: readonly Life[]): number {
  const empty = lives.flatMap(({ from, to }) =>
    spans(versions, from, to).filter(({ addresses }) => addresses.length === 0),
  )
  let sum = 0
  let end = Number.NEGATIVE_INFINITY
  for (const { from, to } of empty.toSorted((a, b) => a.from - b.from)) {
    sum += Math.max(0, to - Math.max(from, end))
    end = Math.max(end, to)
  }
  return sum
}

interface Span {
  readonly from: number
  readonly to: number
  readonly addresses: readonly string[]
  readonly listed: readonly string[]
}

/** Each version with the part of `from` to `to` in which it was the present one. */
function spans(versions: readonly Seen[], from: number, to: number): readonly Span[] {
  return versions
    .map(({ at, addresses, listed }, index) => ({
      from: Math.max(from, at),
      to: Math.min(to, versions[index + 1]?.at ?? Number.POSITIVE_INFINITY),
      addresses,
      listed,
    }))
    .filter((span) => span.from < span.to)
}

/** Spans that touch, as one. */
function joined(address: string, all: readonly Span[]): readonly Wrong[] {
  const wrong: Wrong[] = []
  for (const { from, to } of all) {
    const last = wrong.at(-1)
    if (last !== undefined && last.from + last.ms === from) wrong[wrong.length - 1] = { ...last, ms: to - last.from }
    else wrong.push({ address, from, ms: to - from })
  }
  return wrong
}
