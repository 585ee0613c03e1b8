import { CLOCK_AT_START, clockOf, TICK_MS, TIMING, type Replica, type Request, type World } from './world.ts'

/*
 * Two worlds are equal if they differ only in values that no step depends on: the time of day, the size of versions, the names of
 * identities, the order of replicas, the number of requests.
 *
 * Times are relative to the clock of their replica. All times that are too old to matter are equal. Versions count by their order.
 * Identities and formatted times count by the order in which they first occur.
 */

/** The kind of a value, which decides how it is compared. */
const LITERAL = 0
const TIME = 1
const VERSION = 2
const NAME = 3
const REQUEST = 4
/** A time that no longer matters once it has passed. */
const DEADLINE = 5

/** The values of a state, as alternating kinds and values. */
type Parts = readonly number[]

const partsOfState = new WeakMap<object, Parts>()
const names = new Map<string, number>([['', 0]])
/** The texts of states, by their numbers. */
const words = new Map<number, string>()

/** Fields whose numbers count the requests of one replica. */
const REQUEST_FIELDS = new Set(['request', 'requests', 'reading'])

/** Fields that no step depends on. */
const IRRELEVANT_FIELDS = new Set(['error', 'native', 'freeSince'])

const LEAST_EPOCH = 'tenure.dev/least-epoch'

const NAMED = /^(?:r\d+\.\d+|\d{4}-\d\d-\d\dT.*Z)$/

/** The hash of a world, in two words of 32 bits. */
export interface Fingerprint {
  high: number
  low: number
}

const hash: Fingerprint = { high: 0, low: 0 }

/** The fingerprint of a world. The next call overwrites the returned object. */
export function fingerprintOf(world: World): Fingerprint {
  const order = inOrder(world)
  ranks(world)
  named.fill(0)
  named[0] = 1
  namesSeen = 1
  for (const { replica } of order) rename(nameOf(replica.identity))
  hash.high = 0x2f0b4a87
  hash.low = 0x811c9dc5
  mix(world.faultsLeft * 128 + world.ordersLeft * 4 + (world.isNamedFree ? 2 : 0) + (world.hasPaused ? 1 : 0))
  mix(rankOf(Number(world.lastEpoch)))
  mixRestores(world)
  for (const { replica } of order) mixReplica(world, replica)
  mixParts(partsOf(world.lease), 0)
  const places = new Map(order.map(({ index }, place) => [index, place]))
  for (const request of world.requests) mixRequest(world, request, places.get(request.from) ?? 0)
  return hash
}

interface Placed {
  readonly index: number
  readonly replica: Replica
  readonly key: number
}

/** The replicas in an order that depends on their states and not on their indices. */
function inOrder(world: World): readonly Placed[] {
  const placed = world.replicas.map((replica, index) => ({ index, replica, key: localKey(world, replica) }))
  return placed.sort((a, b) => a.key - b.key || a.index - b.index)
}

/** A hash of a replica without its name and without versions. */
function localKey(world: World, replica: Replica): number {
  hash.high = 1
  hash.low = 2
  mixFlags(replica)
  const now = clockOf(world, replica)
  const self = nameOf(replica.identity)
  const parts = partsOf(replica.state)
  for (let index = 0; index < parts.length; index += 2) {
    const value = parts[index + 1] ?? 0
    switch (parts[index]) {
      case TIME:
        mix(age(value, now))
        break
      case DEADLINE:
        mix(Math.max(0, age(value, now)))
        break
      case NAME:
        mix(value === 0 ? 0 : value === self ? 1 : 2)
        break
      case LITERAL:
        mix(value)
        break
      default:
        break
    }
  }
  return hash.low >>> 0
}

const DEPARTURES: readonly Replica['departure'][] = [undefined, 'draining', 'stopping']

function mixFlags(replica: Replica): void {
  mix(Math.round(replica.rate * 1000))
  mix((replica.isAlive ? 1 : 0) + (replica.decider === 'server' ? 2 : 0) + 4 * DEPARTURES.indexOf(replica.departure))
  mix(['none', 'running', 'ending', 'cleaning'].indexOf(replica.tasks))
  mix((replica.isPaused ? 1 : 0) + (replica.isBehind ? 2 : 0) + (replica.isCutOff ? 4 : 0))
  mix(replica.watch === 'up' ? 0 : replica.watch === 'late' ? 1 : 2)
  mix(replica.unseen.length)
}

/** `place` is the position of the sender in the order of the replicas. */
function mixRequest(world: World, request: Request, place: number): void {
  mix(place * 8 + (request.isDone ? 4 : 0) + (request.isGhost ? 2 : 0) + (request.isOld ? 1 : 0))
  mix(world.tick - request.sentTick > 1 ? 2 : world.tick - request.sentTick)
  mix(rename(nameOf(request.identity)))
  if (!request.isGhost) mix(request.request - requestsOf(world.replicas[request.from]))
  if (request.write !== undefined) mixParts(partsOf(request.write), 0)
}

function mixRestores({ tick, version, restores }: World): void {
  const { backups, era, lastEra, sinceTick, isMixed } = restores
  if (!isCounted) return
  mix(era * 64 + lastEra * 8 + backups.length * 2 + (isMixed ? 1 : 0))
  mix(rankOf(Number(version)))
  mix(Math.min(-LONG_AGO, (tick - sinceTick) * TICK_MS))
  for (const backup of backups) mixParts(partsOf(backup), 0)
}

function mixReplica(world: World, replica: Replica): void {
  mixFlags(replica)
  const now = clockOf(world, replica)
  if (!replica.isAlive) return
  mix(rename(nameOf(replica.granted ?? '')))
  if (replica.preferred !== undefined)
    mix(rename(nameOf(replica.preferred.identity)) * 2 + (replica.preferred.isAlive ? 1 : 0))
  if (replica.tasks !== 'none') mix(age(replica.validUntil, now) * 4 + replica.era)
  mixParts(partsOf(replica.state), now, requestsOf(replica))
  for (const snapshot of replica.unseen) mixParts(partsOf(snapshot), now)
}

function requestsOf(replica: Replica | undefined): number {
  return replica?.state.memory.requests ?? 0
}

function mixParts(parts: Parts, now: number, requests = 0): void {
  for (let index = 0; index < parts.length; index += 2) {
    const value = parts[index + 1] ?? 0
    switch (parts[index]) {
      case TIME:
        mix(age(value, now))
        break
      case DEADLINE:
        mix(Math.max(0, age(value, now)))
        break
      case VERSION:
        mix(rankOf(value))
        break
      case NAME:
        mix(rename(value))
        break
      case REQUEST:
        mix(requests - value)
        break
      default:
        mix(value)
    }
  }
}

/** Times that are older than this do not matter. */
const LONG_AGO = -3 * TIMING.leaseDurationMs

function age(time: number, now: number): number {
  return Math.max(LONG_AGO, Math.round(time - now))
}

const ranked: number[] = []

/** Whether versions count by their distance instead of their order, because a restored store uses them again. */
let isCounted = false

/** Sorts all versions of a world. */
function ranks(world: World): void {
  ranked.length = 0
  isCounted = world.restores.backups.length > 0 || world.restores.era > 0
  ranked.push(Number(world.lastEpoch), Number(world.version))
  noteVersions(partsOf(world.lease))
  for (const replica of world.replicas) {
    if (!replica.isAlive) continue
    noteVersions(partsOf(replica.state))
    for (const snapshot of replica.unseen) noteVersions(partsOf(snapshot))
  }
  for (const backup of world.restores.backups) noteVersions(partsOf(backup))
  for (const { write } of world.requests) if (write !== undefined) noteVersions(partsOf(write))
  sortAndDeduplicate(ranked)
}

function noteVersions(parts: Parts): void {
  for (let index = 0; index < parts.length; index += 2) {
    if (parts[index] === VERSION) ranked.push(parts[index + 1] ?? 0)
  }
}

function sortAndDeduplicate(numbers: number[]): void {
  numbers.sort((a, b) => a - b)
  let kept = 0
  for (const number of numbers) if (kept === 0 || numbers[kept - 1] !== number) numbers[kept++] = number
  numbers.length = kept
}

function rankOf(version: number): number {
  return isCounted ? version - (ranked[0] ?? 0) : ranked.indexOf(version)
}

let named = new Int32Array(1024)
let namesSeen = 0

/** The position of a name in the order of first occurrence. */
function rename(name: number): number {
  if (name >= named.length) {
    const larger = new Int32Array(2 * Math.max(name, named.length))
    larger.set(named)
    named = larger
  }
  if (named[name] === 0) named[name] = ++namesSeen
  return named[name] ?? 0
}

function nameOf(name: string): number {
  const known = names.get(name)
  if (known !== undefined) return known
  names.set(name, names.size)
  return names.size - 1
}

function partsOf(state: object): Parts {
  const known = partsOfState.get(state)
  if (known !== undefined) return known
  const parts: number[] = []
  takeApart(state, parts, '')
  partsOfState.set(state, parts)
  return parts
}

function takeApart(value: unknown, parts: number[], field: string): void {
  switch (typeof value) {
    case 'number':
      takeNumber(value, parts, field)
      break
    case 'bigint':
      parts.push(VERSION, Number(value))
      break
    case 'boolean':
      parts.push(LITERAL, value ? 1 : 0)
      break
    case 'undefined':
      parts.push(LITERAL, -1)
      break
    case 'string':
      takeText(value, parts, field)
      break
    case 'object':
      if (value === null) parts.push(LITERAL, -1)
      else takeObject(value, parts)
      break
    default:
      throw new Error(`Expected a state to contain only data, got a ${typeof value} in \`${field}\``)
  }
}

function takeNumber(value: number, parts: number[], field: string): void {
  if (REQUEST_FIELDS.has(field)) parts.push(REQUEST, value)
  else if (value > CLOCK_AT_START / 2) parts.push(field === 'guardedUntil' ? DEADLINE : TIME, value)
  else parts.push(LITERAL, Math.round(value * 1000))
}

function takeText(value: string, parts: number[], field = ''): void {
  if (field === LEAST_EPOCH) parts.push(VERSION, Number(value))
  else if (value === '' || field === 'nonce' || NAMED.test(value)) parts.push(NAME, nameOf(value))
  else if (value.startsWith('{') || value.startsWith('[')) takeApart(JSON.parse(value), parts, '')
  else {
    parts.push(LITERAL, wordOf(value))
  }
}

/** A number for a text, which is the same in every process. */
function wordOf(text: string): number {
  let word = 0
  for (let index = 0; index < text.length; index++) word = (Math.imul(word, 31) + text.charCodeAt(index)) | 0
  const known = words.get(word)
  if (known !== undefined && known !== text) throw new Error(`Expected two texts to differ: ${known}, ${text}`)
  words.set(word, text)
  return word
}

const wordsOfFields = new Map<string, number>()

function wordOfField(field: string): number {
  const known = wordsOfFields.get(field)
  if (known !== undefined) return known
  const word = wordOf(field)
  wordsOfFields.set(field, word)
  return word
}

function takeObject(value: object, parts: number[]): void {
  const fields = Object.keys(value)
  parts.push(LITERAL, fields.length)
  for (const field of fields) {
    if (IRRELEVANT_FIELDS.has(field)) continue
    parts.push(LITERAL, wordOfField(field))
    takeApart((value as Readonly<Record<string, unknown>>)[field], parts, field)
  }
}

function mix(word: number): void {
  hash.low = Math.imul(hash.low ^ word, 0x01000193) ^ (hash.high >>> 15)
  hash.high = (Math.imul(hash.high ^ (word << 7) ^ (hash.low >>> 9), 0x85ebca6b) + hash.low) | 0
}
