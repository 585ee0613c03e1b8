import { compareVersions, isVersion } from '@tenure/core/internal'
import { isJsonObject, objectAt, stringAt, type JsonObject } from '../json-object.ts'
import type { Resource } from '../client/resource.ts'

/** The resource that candidates are. */
export const CANDIDATES: Resource = { group: 'coordination.k8s.io', version: 'v1beta1', resource: 'leasecandidates' }

/** How long the controller waits for the answer to a ping. */
export const ANSWER_MS = 5000

/** The strategy that the election controller of Kubernetes knows. */
export const OLDEST_EMULATION_VERSION = 'OldestEmulationVersion'

/** What a candidate says of itself. */
export interface CandidateFacts {
  readonly binaryVersion: string
  readonly emulationVersion: string
}

/** The Pod of a candidate. The garbage collector deletes the candidate with it. */
export interface OwnerPod {
  readonly name: string
  readonly uid: string
}

/** A LeaseCandidate as it is stored. */
export interface StoredCandidate {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  /** Whole seconds. */
  readonly createdAt: string
  readonly leaseName: string | undefined
  readonly binaryVersion: string | undefined
  readonly emulationVersion: string | undefined
  readonly strategy: string | undefined
  readonly pingTime: string | undefined
  readonly renewTime: string | undefined
}

/** Reads a LeaseCandidate. Fields of another type count as missing. */
export function readCandidate(object: JsonObject): StoredCandidate {
  const metadata = objectAt(object, 'metadata')
  const spec = objectAt(object, 'spec')
  return {
    name: stringAt(metadata, 'name') ?? '',
    uid: stringAt(metadata, 'uid') ?? '',
    resourceVersion: stringAt(metadata, 'resourceVersion') ?? '',
    createdAt: stringAt(metadata, 'creationTimestamp') ?? '',
    leaseName: stringAt(spec, 'leaseName'),
    binaryVersion: stringAt(spec, 'binaryVersion'),
    emulationVersion: stringAt(spec, 'emulationVersion'),
    strategy: stringAt(spec, 'strategy'),
    pingTime: stringAt(spec, 'pingTime'),
    renewTime: stringAt(spec, 'renewTime'),
  }
}

/** The candidates in a list. */
export function readCandidates(list: unknown): readonly StoredCandidate[] {
  const items: unknown = isJsonObject(list) ? list['items'] : undefined
  return Array.isArray(items) ? items.filter(isJsonObject).map(readCandidate) : []
}

/** The body that creates a candidate. A candidate without `renewTime` would never be considered. */
export function candidateBody(
  { name, leaseName, facts }: { readonly name: string; readonly leaseName: string; readonly facts: CandidateFacts },
  renewTime: string,
  pod: OwnerPod | undefined,
): JsonObject {
  const owner = pod && [{ apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid }]
  return {
    apiVersion: 'coordination.k8s.io/v1beta1',
    kind: 'LeaseCandidate',
    metadata: { name, ...(owner && { ownerReferences: owner }) },
    spec: { leaseName, ...facts, strategy: OLDEST_EMULATION_VERSION, renewTime },
  }
}

/** Whether the controller prefers these facts to a candidate, whatever their ages are. False if it says no versions that compare. */
export function isBetter(facts: CandidateFacts, { emulationVersion, binaryVersion }: StoredCandidate): boolean {
  if (!isVersion(emulationVersion) || !isVersion(binaryVersion)) return false
  const order = compareVersions(facts.emulationVersion, emulationVersion)
  return (order || compareVersions(facts.binaryVersion, binaryVersion)) < 0
}

/** Whether a candidate says something else than its replica. */
export function isEdited(
  { leaseName, binaryVersion, emulationVersion, strategy }: StoredCandidate,
  wanted: { readonly leaseName: string; readonly facts: CandidateFacts },
): boolean {
  return (
    leaseName !== wanted.leaseName ||
    binaryVersion !== wanted.facts.binaryVersion ||
    emulationVersion !== wanted.facts.emulationVersion ||
    strategy !== OLDEST_EMULATION_VERSION
  )
}

/** Whether the candidate has not answered its last ping. Times have six digits after the point and sort as text. */
export function isPinged({ pingTime, renewTime = '' }: StoredCandidate): boolean {
  return pingTime !== undefined && renewTime < pingTime
}

/**
 * The later of two times. An answer that is earlier than its ping does not count, and the candidate is never asked again: the server may
 * be ahead of this clock, or have pinged within the same millisecond.
 */
export function laterOf(now: string, pingTime = ''): string {
  return now > pingTime ? now : pingTime
}
