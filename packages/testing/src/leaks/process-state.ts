import dns from 'node:dns'
import { EventEmitter } from 'node:events'
import fs from 'node:fs'
import fsPromises from 'node:fs/promises'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import timers from 'node:timers'
import childProcess from 'node:child_process'
import type { LeakKind } from './leak-kind.ts'

/** What there is once in a process and anybody may change: by what it belongs to, if anything, and its name. */
export type ProcessState = ReadonlyMap<string, Values>

type Values = ReadonlyMap<string, unknown>

/** What is different now. */
export interface StateChange {
  readonly kind: Extract<LeakKind, 'global' | 'process-state'>
  readonly name: string
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
]

/** Objects that all code of a process shares, with what to call them. */
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
  ['child_process', childProcess],
  ['fs', fs],
  ['fs.promises', fsPromises],
  ['http', http],
  ['https', https],
  ['net', net],
  ['os', os],
  ['path', path],
  ['timers', timers],
]

const LAZY = Symbol('made when it is first read')

/** What all of it is now. */
export function readProcessState(): ProcessState {
  const state = new Map<string, Values>()
  for (const [name, object] of SHARED) state.set(name, readShared(object))
  return state.set('process.env', new Map(Object.entries(process.env))).set('', readSettings())
}

function readSettings(): Values {
  return new Map<string, unknown>([
    ['process.cwd()', cwd()],
    ['process.umask()', process.umask()],
    ['process.title', process.title],
    ['process.hasUncaughtExceptionCaptureCallback()', process.hasUncaughtExceptionCaptureCallback()],
    ['dns.getServers()', dns.getServers().join(' ')],
    ['dns.getDefaultResultOrder()', dns.getDefaultResultOrder()],
    ['net.getDefaultAutoSelectFamily()', net.getDefaultAutoSelectFamily()],
    ['EventEmitter.defaultMaxListeners', EventEmitter.defaultMaxListeners],
    ['EventEmitter.captureRejections', Reflect.get(EventEmitter, 'captureRejections')],
    ['process.stdout.write', Reflect.get(process.stdout, 'write')],
    ['process.stderr.write', Reflect.get(process.stderr, 'write')],
    ['http.globalAgent', http.globalAgent],
    ['https.globalAgent', https.globalAgent],
  ])
}

/** What differs between two states, but for what a test runner does for the time of a test. */
export function changesBetween(before: ProcessState, after: ProcessState): readonly StateChange[] {
  return [...after].flatMap(([owner, values]) =>
    changedKeys(before.get(owner) ?? new Map(), values).map((key) => changeOf(owner === '' ? key : `${owner}.${key}`)),
  )
}

function changedKeys(before: Values, after: Values): readonly string[] {
  const changed: string[] = []
  for (const [key, is] of after) if (isChange(before.get(key), is)) changed.push(key)
  for (const [key, was] of before) if (!after.has(key) && isChange(was, undefined)) changed.push(key)
  return changed
}

function isChange(was: unknown, is: unknown): boolean {
  return !Object.is(was, is) && was !== LAZY && is !== LAZY && !isMock(is)
}

function changeOf(name: string): StateChange {
  return { kind: CALLS.test(name) ? 'process-state' : 'global', name }
}

const CALLS = /^process\.(?:env\.|title$)|\(\)$/

/** Text keys only: libraries keep under symbols what they have once per process. */
function readShared(object: object): Values {
  const values = new Map<string, unknown>()
  for (const key of Object.getOwnPropertyNames(object)) {
    if (key.startsWith('_') || key === 'exitCode') continue
    const descriptor = Object.getOwnPropertyDescriptor(object, key) ?? {}
    const isData = 'value' in descriptor
    if (object === process && !(isData && typeof descriptor.value === 'function')) continue
    values.set(key, isData ? descriptor.value : LAZY)
  }
  return values
}

/** Spies and fake timers, which test runners put back by themselves. */
function isMock(value: unknown): boolean {
  return (
    typeof value === 'function' &&
    (Reflect.get(value, '_isMockFunction') === true || Object.hasOwn(value, 'mock') || Object.hasOwn(value, 'clock'))
  )
}

function cwd(): string {
  try {
    return process.cwd()
  } catch {
    return '' // It was removed.
  }
}
