import { fixOf, type LeakKind, titleOf } from './leak-kind.ts'
import type { Leak } from './leak.ts'
import type { WatchPlace } from './watch-place.ts'
import { readableStack, roughSiteOf, type Sighting } from './sighting.ts'

/** For each place, how often something was created again during the grace. */
export type Rearmed = ReadonlyMap<string, number>

const HINT = '`retainers: true` shows what holds it'

/** Each kind on the left contains the kinds on the right when both were created in the same place. */
const WHOLES: Partial<Record<LeakKind, readonly LeakKind[]>> = {
  'http-server': ['accepted-socket', 'tls-socket'],
  'tls-server': ['accepted-socket', 'tls-socket'],
  'tcp-server': ['accepted-socket'],
  'unix-server': ['accepted-socket'],
  'tls-socket': ['tcp-socket'],
  'keep-alive-socket': ['tls-socket', 'request'],
  'tcp-socket': ['request'],
  'file-handle': ['file-descriptor'],
  'broadcast-channel': ['event-target-listener'],
  'message-port': ['event-target-listener'],
  worker: ['event-target-listener', 'event-listener'],
}

/** Sightings that make up one leak. */
export type Group = readonly [Sighting, ...Sighting[]]

/** Groups sightings of the same leak. Omits parts of a larger leak. */
export function groupsOf(sightings: readonly Sighting[], rearmed: Rearmed): readonly Group[] {
  const groups = new Map<string, [Sighting, ...Sighting[]]>()
  for (const sighting of withoutParts(withoutHandedObjects(sightings))) {
    const { entry, site } = sighting
    const key = [kindOf(sighting, rearmed), site, entry.origin.controller].join(' ')
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [sighting])
    else group.push(sighting)
  }
  return [...groups.values()]
}

/** The facts about a leak that its group does not have. */
export interface LeakContext {
  readonly rearmed: Rearmed
  /** What holds the first object of the group. Empty if the heap was not searched. */
  readonly heldBy: string
  readonly place: () => WatchPlace
}

/** Describes a group as one leak. */
export function leakOf(group: Group, { rearmed, heldBy, place }: LeakContext): Leak {
  const [first] = group
  const { origin } = first.entry
  const kind = kindOf(first, rearmed)
  const epochs = group.flatMap(({ entry }) => (entry.origin.epoch === undefined ? [] : [entry.origin.epoch]))
  const refs = group.map(({ description }) => description.isRef)
  return {
    kind,
    title: titleOf(kind),
    detail: first.description.detail ?? '',
    count: group.length,
    ...siteOfLeak(first, place),
    stack: readableStack(first.frames),
    isRef: refs.includes(true) ? true : refs.includes(false) ? false : undefined,
    controller: origin.controller,
    task: origin.task,
    lease: origin.lease,
    epochs: [...new Set(epochs)].toSorted((a, b) => (a < b ? -1 : 1)),
    rearmed: first.entry.thing.retained !== undefined ? 0 : (rearmed.get(roughSiteOf(first.entry)) ?? 0),
    heldBy,
    fix: first.entry.thing.retained === undefined || heldBy !== '' ? fixOf(kind) : `${fixOf(kind)}; ${HINT}`,
  }
}

function siteOfLeak(
  { site, description }: Sighting,
  place: () => WatchPlace,
): Pick<Leak, 'site' | 'siteKind' | 'test'> {
  if (site === '') return { ...place(), siteKind: 'watch' }
  return { site, siteKind: description.isValue === true ? 'value' : 'creation', test: undefined }
}

/** A sleep or a request that is created again at every look is an endless loop. */
function kindOf({ entry, description }: Sighting, rearmed: Rearmed): LeakKind {
  const isAnew = (rearmed.get(roughSiteOf(entry)) ?? 0) > 0
  return isAnew && (description.kind === 'sleep' || description.kind === 'request') ? 'async-loop' : description.kind
}

function withoutParts(sightings: readonly Sighting[]): readonly Sighting[] {
  const wholes = new Set(sightings.filter(({ description }) => !description.isPart).map(keyOf))
  const parts = new Set(
    sightings.flatMap(({ description, site }) => (WHOLES[description.kind] ?? []).map((part) => `${part} ${site}`)),
  )
  return sightings.filter((sighting) => {
    if (sighting.description.isPart === true) return !wholes.has(keyOf(sighting))
    return !parts.has(keyOf(sighting))
  })
}

function keyOf({ description, site }: Sighting): string {
  return `${description.kind} ${site}`
}

/**
 * An object in a field of a controller may be shared with the rest of the program. It counts as a leak only if several runs leave
 * one each, and if no controller or Term that leaked explains it.
 */
function withoutHandedObjects(sightings: readonly Sighting[]): readonly Sighting[] {
  const retained = new Set(
    sightings.flatMap(({ description, entry }) => (isOwner(description.kind) ? [entry.origin.run] : [])),
  )
  const runs = new Map<string, Set<number | undefined>>()
  for (const { description, entry } of sightings) {
    const field = description.detail ?? ''
    runs.set(field, (runs.get(field) ?? new Set()).add(entry.origin.run))
  }
  return sightings.filter(
    ({ description, entry }) =>
      description.kind !== 'owned-object' ||
      (!retained.has(entry.origin.run) && (runs.get(description.detail ?? '')?.size ?? 0) > 1),
  )
}

function isOwner(kind: LeakKind): boolean {
  return kind === 'controller' || kind === 'term'
}
