import assert from 'node:assert'
import buffer from 'node:buffer'
import childProcess from 'node:child_process'
import cluster from 'node:cluster'
import crypto from 'node:crypto'
import { EventEmitter } from 'node:events'
import fs from 'node:fs'
import fsPromises from 'node:fs/promises'
import http from 'node:http'
import https from 'node:https'
import module from 'node:module'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import stream from 'node:stream'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import tls from 'node:tls'
import url from 'node:url'
import util from 'node:util'
import workerThreads from 'node:worker_threads'
import type { LeakKind } from './leak-kind.ts'
import { PROCESS_SETTINGS } from './process-settings.ts'

/** The state that a process has once and that any code may change, by owner and name. */
export type ProcessState = readonly Values[]

/** The values of one owner, and the names of those values in the same order. */
interface Values {
  readonly owner: string
  readonly keys: readonly string[]
  readonly values: readonly unknown[]
}

/** A change of the state. */
export interface StateChange {
  readonly kind: Extract<LeakKind, 'global' | 'process-state'>
  readonly name: string
  /** The current value. */
  readonly value: unknown
}

const BUILT_INS = [
  Object,
  Function,
  Array,
  String,
  Number,
  Boolean,
  Symbol,
  BigInt,
  Promise,
  Map,
  Set,
  WeakMap,
  Date,
  RegExp,
  Error,
  Buffer,
]

/** Objects that all code of a process shares, with their names. */
const SHARED: readonly (readonly [name: string, object: object])[] = [
  ['globalThis', globalThis],
  ['console', console],
  ['process', process],
  ['Math', Math],
  ['JSON', JSON],
  ['Reflect', Reflect],
  ...BUILT_INS.flatMap((type) => [
    [type.name, type] as const,
    [`${type.name}.prototype`, type.prototype as object] as const,
  ]),
  ['EventEmitter', EventEmitter],
  ['EventEmitter.prototype', EventEmitter.prototype],
  ['EventTarget.prototype', EventTarget.prototype],
  ['assert', assert],
  ['buffer', buffer],
  ['child_process', childProcess],
  ['cluster', cluster],
  ['crypto', crypto],
  ['fs', fs],
  ['fs.promises', fsPromises],
  ['http', http],
  ['https', https],
  ['module', module],
  ['require.extensions', Reflect.get(module, '_extensions') as object],
  ['net', net],
  ['os', os],
  ['path', path],
  ['stream', stream],
  ['timers', timers],
  ['timers.promises', timersPromises],
  ['tls', tls],
  ['url', url],
  ['util', util],
  ['util.inspect.colors', util.inspect.colors],
  ['util.inspect.styles', util.inspect.styles],
  ['worker_threads', workerThreads],
]

/** Properties that are private by name but often patched. */
const PATCHED = new Set(['_load', '_resolveFilename', '_compile'])
/** Properties that are read as settings, or that the test runner changes: vitest counts assertions with `exitCode`. */
const SKIPPED = new Set([
  'exitCode',
  'defaultMaxListeners',
  'captureRejections',
  'settings',
  'schedulingPolicy',
  'workers',
  'isMainThread',
])
const SETTING_NAMES = PROCESS_SETTINGS.map(({ name }) => name)

/** An accessor. Node creates some properties on first read, so an accessor that becomes a value is not a change. */
class Accessor {
  readonly get: unknown

  constructor(get: unknown) {
    this.get = get
  }
}

const accessors = new WeakMap<object, Accessor>()

/** Reads the current state. Reuses unchanged parts of the state `before`. */
export function readProcessState(before?: ProcessState): ProcessState {
  const last = SHARED.length
  const state: Values[] = SHARED.map(([owner, object], index) => readShared(owner, object, before?.[index]))
  state.push(readEnvironment(before?.[last]), readSettings(before?.[last + 1]))
  return state
}

/** Reads each variable once, because every read is a system call. */
function readEnvironment(before: Values | undefined): Values {
  const { env } = process
  const keys = Reflect.ownKeys(env) as string[]
  return unlessSame(before, { owner: 'process.env', keys, values: keys.map((key) => env[key]) })
}

function readSettings(before: Values | undefined): Values {
  return unlessSame(before, { owner: '', keys: SETTING_NAMES, values: PROCESS_SETTINGS.map(({ read }) => read()) })
}

function unlessSame(before: Values | undefined, present: Values): Values {
  return before !== undefined && haveSameValues(before, present) ? before : present
}

/** The differences between two states, without the mocks of a test runner. */
export function changesBetween(before: ProcessState, after: ProcessState): readonly StateChange[] {
  const changes = after.flatMap((values, index) => {
    const was = before[index]
    return was === undefined ? [] : changesOf(was, values)
  })
  // A replaced agent also has different options.
  return changes.filter(({ name }) => !changes.some((other) => name.startsWith(`${other.name}.`)))
}

function changesOf(was: Values, is: Values): readonly StateChange[] {
  if (was === is || haveSameValues(was, is)) return []
  const before = new Map(was.keys.map((key, index) => [key, was.values[index]]))
  const after = new Map(is.keys.map((key, index) => [key, is.values[index]]))
  const keys = new Set([...after.keys(), ...before.keys()])
  return [...keys].flatMap((key) => {
    const value = after.get(key)
    return isChange(before.get(key), value) ? [changeOf(is.owner === '' ? key : `${is.owner}.${key}`, value)] : []
  })
}

/** The usual case, without a table of the names. */
function haveSameValues(was: Values, is: Values): boolean {
  if (was.keys !== is.keys && !haveSameItems(was.keys, is.keys)) return false
  for (let index = 0; index < is.keys.length; index++) {
    if (!Object.is(was.values[index], is.values[index])) return false
  }
  return true
}

function isChange(was: unknown, is: unknown): boolean {
  if (Object.is(was, is) || isMock(is)) return false
  return !(was instanceof Accessor) || (is instanceof Accessor && was.get !== is.get)
}

function changeOf(name: string, value: unknown): StateChange {
  return {
    kind: CALLS.test(name) ? 'process-state' : 'global',
    name,
    value: value instanceof Accessor ? value.get : value,
  }
}

const CALLS =
  /^process\.(?:env\.|title$|argv$|execArgv$|report\.|sourceMapsEnabled$|\w+Deprecation$|execPath$)|\)$|^https?\.globalAgent\.|^util\.inspect\.|^cluster\.s|^Error\.stackTraceLimit$/

/** The relevant properties of an object, and which of them are accessors. */
interface Shape {
  readonly names: readonly string[]
  readonly keys: readonly string[]
  readonly accessors: ReadonlySet<string>
}

const shapes = new WeakMap<object, Shape>()

/** Reads the values of an object. Inspects the properties again only if their names changed. */
function readShared(owner: string, object: object, before: Values | undefined): Values {
  const names = Object.getOwnPropertyNames(object)
  const known = shapes.get(object)
  const shape = known !== undefined && haveSameItems(known.names, names) ? known : shapeOf(object, names)
  if (shape !== known) shapes.set(object, shape)
  if (before?.keys === shape.keys && isUnchanged(object, shape, before.values)) return before
  const { keys } = shape
  return { owner, keys, values: keys.map((key) => valueOf(object, shape, key)) }
}

/** The usual case, without a list of the values. */
function isUnchanged(object: object, shape: Shape, values: readonly unknown[]): boolean {
  const { keys } = shape
  for (let index = 0; index < keys.length; index++) {
    if (!Object.is(valueOf(object, shape, keys[index] as string), values[index])) return false
  }
  return true
}

function valueOf(object: object, { accessors }: Shape, key: string): unknown {
  return accessors.has(key) ? readAccessor(object, key) : (object as Record<string, unknown>)[key]
}

/** String keys only: libraries use symbol keys for their per-process state. */
function shapeOf(object: object, names: readonly string[]): Shape {
  const keys: string[] = []
  const accessors = new Set<string>()
  for (const key of names) {
    const descriptor = Object.getOwnPropertyDescriptor(object, key)
    const isSkipped = (key.startsWith('_') && !PATCHED.has(key)) || SKIPPED.has(key)
    if (descriptor === undefined || isSkipped) continue
    const isData = 'value' in descriptor
    if (object === process && !(isData && typeof descriptor.value === 'function')) continue
    keys.push(key)
    if (!isData) accessors.add(key)
  }
  return { names, keys, accessors }
}

/** The accessor may have become a value since: Node creates some properties on first read. */
function readAccessor(object: object, key: string): unknown {
  const descriptor = Object.getOwnPropertyDescriptor(object, key) ?? {}
  const get: unknown = Reflect.get(descriptor, 'get') ?? Reflect.get(descriptor, 'set')
  return typeof get === 'function' ? accessorOf(get) : descriptor.value
}

function haveSameItems(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false
  return true
}

function accessorOf(get: object): Accessor {
  const known = accessors.get(get) ?? new Accessor(get)
  accessors.set(get, known)
  return known
}

/** Whether it is a spy or a fake timer. Test runners restore these themselves. */
function isMock(value: unknown): boolean {
  const held = value instanceof Accessor ? value.get : value
  return (
    typeof held === 'function' &&
    (Reflect.get(held, '_isMockFunction') === true || Object.hasOwn(held, 'mock') || Object.hasOwn(held, 'clock'))
  )
}
