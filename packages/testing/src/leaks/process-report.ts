import asyncHooks from 'node:async_hooks'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { pathToFileURL } from 'node:url'
import { replaceProperty } from './replace-property.ts'
import type { Frame } from './frame.ts'
import { ReplayedCallSite } from './replayed-call-site.ts'

/** A handle for the report. */
export interface ReportedHandle {
  readonly type: string
  readonly resource: object
  /** The stack of its creation, innermost frame first. */
  readonly frames: readonly Frame[]
}

interface WhyIsNodeRunning {
  readonly hook: Required<Pick<asyncHooks.HookCallbacks, 'init' | 'destroy'>>
  readonly print: (logger: { error(message: string): void }) => void
}

let loaded: Promise<WhyIsNodeRunning> | undefined

/**
 * The report of why-is-node-running about these handles.
 *
 * By default the package hooks every async resource after its import and can report only once. Here it gets the handles on demand,
 * each with its creation stack.
 */
export async function whatKeepsTheProcessAlive(handles: readonly ReportedHandle[]): Promise<string> {
  if (handles.length === 0) return ''
  const { hook, print } = await (loaded ??= load())
  handles.forEach(({ type, resource, frames }, index) => withStack(frames, () => hook.init(index, type, 0, resource)))
  const lines: string[] = []
  print({ error: (message) => lines.push(message) })
  for (const index of handles.keys()) hook.destroy(index)
  return lines.join('\n')
}

/** Imports a separate instance of the package and captures its hook instead of enabling it. */
async function load(): Promise<WhyIsNodeRunning> {
  const { promise, resolve } = Promise.withResolvers<WhyIsNodeRunning['hook']>()
  const undo = replaceProperty(asyncHooks, 'createHook', (original) => (callbacks) => {
    if (!isCalledByPackage()) return original(callbacks)
    resolve({
      init: (...args) => callbacks.init?.(...args),
      destroy: (...args) => callbacks.destroy?.(...args),
    })
    const inert = { enable: () => inert, disable: () => inert }
    return inert
  })
  syncBuiltinESMExports()
  try {
    const path = createRequire(import.meta.url).resolve('why-is-node-running')
    const module: unknown = await import(/* @vite-ignore */ `${pathToFileURL(path).href}?for=tenure-leaks`)
    return { hook: await promise, print: printerOf(module) }
  } finally {
    undo()
    syncBuiltinESMExports()
  }
}

function isCalledByPackage(): boolean {
  return new Error().stack?.includes('why-is-node-running') ?? false
}

function printerOf(module: unknown): WhyIsNodeRunning['print'] {
  return Reflect.get(module as object, 'default') as WhyIsNodeRunning['print']
}

/** It asks V8 for the present stack; what it is to see is the recorded one. */
function withStack(frames: readonly Frame[], work: () => void): void {
  const [innermost, ...others] = frames.map(
    ({ name, file, line, column }) =>
      new ReplayedCallSite({ functionName: name, scriptName: file, lineNumber: line, columnNumber: column }),
  )
  // It drops the first one, which would be its own.
  const sites = innermost === undefined ? [] : [innermost, innermost, ...others]
  const undo = replaceProperty(Error, 'captureStackTrace', () => (target: object) => {
    const value: unknown = Error.prepareStackTrace?.(target as Error, sites as unknown as NodeJS.CallSite[])
    Object.defineProperty(target, 'stack', { value, configurable: true })
  })
  try {
    work()
  } finally {
    undo()
  }
}
