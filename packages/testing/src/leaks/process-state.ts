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

/** What there is once in a process and anybody may change, by name. */
export type ProcessState = ReadonlyMap<string, unknown>

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
  const state = new Map<string, unknown>()
  for (const [name, object] of SHARED) readShared(state, name, object)
  for (const [name, value] of Object.entries(process.env)) state.set(`process.env.${name}`, value)
  return state
    .set('process.cwd()', cwd())
    .set('process.umask()', process.umask())
    .set('process.title', process.title)
    .set('process.hasUncaughtExceptionCaptureCallback()', process.hasUncaughtExceptionCaptureCallback())
    .set('dns.getServers()', dns.getServers().join(' '))
    .set('dns.getDefaultResultOrder()', dns.getDefaultResultOrder())
    .set('net.getDefaultAutoSelectFamily()', net.getDefaultAutoSelectFamily())
    .set('EventEmitter.defaultMaxListeners', EventEmitter.defaultMaxListeners)
    .set('EventEmitter.captureRejections', Reflect.get(EventEmitter, 'captureRejections'))
    .set('process.stdout.write', Reflect.get(process.stdout, 'write'))
    .set('process.stderr.write', Reflect.get(process.stderr, 'write'))
    .set('http.globalAgent', http.globalAgent)
    .set('https.globalAgent', https.globalAgent)
}

/** What differs between two states, but for what a test runner does for the time of a test. */
export function changesBetween(before: ProcessState, after: ProcessState): readonly StateChange[] {
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].flatMap((name) => {
    const [was, is] = [before.get(name), after.get(name)]
    if (Object.is(was, is) || was === LAZY || is === LAZY || isMock(is)) return []
    return [{ kind: CALLS.test(name) ? ('process-state' as const) : ('global' as const), name }]
  })
}

const CALLS = /^process\.(?:env\.|title$)|\(\)$/

/** Text keys only: libraries keep under symbols what they have once per process. */
function readShared(state: Map<string, unknown>, name: string, object: object): void {
  for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
    if (key.startsWith('_') || key === 'exitCode') continue
    const isData = 'value' in descriptor
    if (object === process && !(isData && typeof descriptor.value === 'function')) continue
    state.set(`${name}.${key}`, isData ? descriptor.value : LAZY)
  }
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
