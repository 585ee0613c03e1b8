import { compareVersions } from '@tenure/core/internal'
import { asJsonObject, asString, type JsonValue } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'

/** A LeaseCandidate as the election controller reads it. */
export interface Candidate {
  readonly object: KubeObject
  readonly name: string
  readonly leaseName: string
  readonly strategy: string
  readonly binaryVersion: string
  readonly emulationVersion: string
  /** Whole seconds since 1970, as text that sorts. */
  readonly createdAt: string
  /** Microseconds since 1970; undefined if it was never pinged. */
  readonly pingTime: number | undefined
  /** Microseconds since 1970; undefined if it says no time. Then it is never considered. */
  readonly renewTime: number | undefined
}

/** Reads a stored LeaseCandidate. */
export function readCandidate(object: KubeObject): Candidate {
  const spec = asJsonObject(object['spec'])
  const text = (field: string): string => asString(spec[field]) ?? ''
  return {
    object,
    name: object.metadata.name ?? '',
    leaseName: text('leaseName'),
    strategy: text('strategy'),
    binaryVersion: text('binaryVersion'),
    emulationVersion: text('emulationVersion'),
    createdAt: object.metadata.creationTimestamp ?? '',
    pingTime: microsOf(spec['pingTime']),
    renewTime: microsOf(spec['renewTime']),
  }
}

/** Microseconds since 1970 of a stored MicroTime. Exact until the year 2255. */
export function microsOf(time: JsonValue | undefined): number | undefined {
  const text = asString(time)
  if (text === undefined) return undefined
  const wholeSeconds = Date.parse(`${text.slice(0, 19)}Z`)
  return wholeSeconds * 1000 + Number(text.slice(20, 26))
}

/** Whether a candidate was pinged and has not answered yet. */
export function isPending({ pingTime, renewTime }: Candidate): boolean {
  return pingTime !== undefined && renewTime !== undefined && renewTime < pingTime
}

/**
 * The strategy of the highest binary version; `undefined` if candidates of that version disagree. kube-apiserver then logs an error and
 * elects nobody.
 */
export function pickStrategy(candidates: readonly Candidate[]): string | undefined {
  const [first, ...others] = candidates.toSorted((a, b) => compareVersions(b.binaryVersion, a.binaryVersion))
  if (first === undefined) return undefined
  const isDisputed = others.some(
    ({ binaryVersion, strategy }) =>
      compareVersions(binaryVersion, first.binaryVersion) === 0 && strategy !== first.strategy,
  )
  return isDisputed ? undefined : first.strategy
}

/**
 * The candidate with the lowest emulation version, then the lowest binary version, then the earliest creation. Creation times are whole
 * seconds. Candidates that are equal in all have no order in kube-apiserver: `random` picks one, so that the leader may change with
 * every election, as it does there.
 */
export function pickOldest(candidates: readonly Candidate[], random: () => number): Candidate | undefined {
  const order = (a: Candidate, b: Candidate): number =>
    compareVersions(a.emulationVersion, b.emulationVersion) ||
    compareVersions(a.binaryVersion, b.binaryVersion) ||
    (a.createdAt < b.createdAt ? -1 : Number(a.createdAt > b.createdAt))
  const [first] = candidates.toSorted(order)
  if (first === undefined) return undefined
  const equals = candidates.filter((candidate) => order(candidate, first) === 0)
  return equals[Math.floor(random() * equals.length)]
}
