import fs from 'node:fs'
import fsPromises from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isCoreFrame, isLibraryFrame } from '../frame-owner.ts'
import type { EntryContext, Ledger } from '../ledger.ts'
import { currentOrigin } from '../origin.ts'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import { rawFramesOf, takeTrace } from '../trace.ts'
import type { Tracker } from '../tracker.ts'
import { isUnobserved, unobserved } from '../unobserved.ts'

type Call = (this: unknown, ...args: unknown[]) => unknown

/** Functions that make something on disk, each with the argument that says where. */
const MAKERS: Readonly<Record<string, number>> = {
  writeFile: 0,
  appendFile: 0,
  open: 0,
  mkdir: 0,
  copyFile: 1,
  cp: 1,
  link: 1,
  symlink: 1,
  rename: 1,
}

interface Maker {
  readonly target: object
  readonly name: string
  readonly argument: number
}

/**
 * Files and folders that were made in the folder for temporary files or in the working directory, until they are gone.
 *
 * The contents of a new folder are part of that folder. Files of the lease itself are meant to stay.
 */
export const trackFilesOnDisk: Tracker = ({ ledger }) => {
  const made = new Set<string>()
  const makers: Maker[] = Object.entries(MAKERS).flatMap(([name, argument]) => [
    { target: fs, name, argument },
    { target: fs, name: `${name}Sync`, argument },
    { target: fsPromises, name, argument },
  ])
  const temporary = [
    { target: fs, name: 'mkdtemp', argument: -1 },
    { target: fs, name: 'mkdtempSync', argument: -1 },
    { target: fsPromises, name: 'mkdtemp', argument: -1 },
  ]
  return undoAll([...makers, ...temporary].map((maker) => watchMaker(ledger, made, maker)))
}

function watchMaker(ledger: Ledger, made: Set<string>, { target, name, argument }: Maker): Undo {
  return replaceProperty(
    target as Record<string, Call>,
    name,
    (original) =>
      function make(...args) {
        const path = isUnobserved() ? undefined : pathOf(args[argument])
        if (argument >= 0 && (path === undefined || !isNew(path, made) || isMoved(name, args[0], made))) {
          return original.apply(this, args)
        }
        const context = { trace: takeTrace(), origin: currentOrigin() }
        return afterwards(original.bind(this), args, (result) => {
          // Of several folders that were made at once, the outermost one is returned, and also that with a random name.
          const there = name.startsWith('mkd') && typeof result === 'string' ? resolve(result) : path
          if (there === undefined) return
          made.add(there)
          if (argument >= 0) enter(ledger, there, context)
        })
      },
  )
}

/** Calls `onMade` with the result once there is one: at once, of a promise, or through the callback. */
function afterwards(call: Call, args: readonly unknown[], onMade: (result: unknown) => void): unknown {
  const callback = args.at(-1)
  if (typeof callback === 'function') {
    return call(...args.slice(0, -1), (error: unknown, ...results: unknown[]) => {
      if (error === null || error === undefined) onMade(results[0])
      callback(error, ...results)
    })
  }
  const result = call(...args)
  if (result instanceof Promise) result.then(onMade, () => {})
  else onMade(result)
  return result
}

function enter(ledger: Ledger, path: string, context: EntryContext): void {
  const maker = rawFramesOf(context.trace ?? []).find(isLibraryFrame)
  if (maker !== undefined && isCoreFrame(maker)) return
  ledger.add({ isAlive: () => isThere(path), describe: () => ({ kind: 'file', detail: path }) }, context)
}

/** Whether there is nothing yet at a path that counts. */
function isNew(path: string, made: ReadonlySet<string>): boolean {
  const isOurs = isIn(path, tmpdir()) || isIn(path, process.cwd())
  return isOurs && !isInMade(path, made) && !isThere(path)
}

/** What was there before and has another name now was not made. */
function isMoved(name: string, from: unknown, made: ReadonlySet<string>): boolean {
  const source = name.startsWith('rename') ? pathOf(from) : undefined
  return source !== undefined && !made.has(source)
}

function isInMade(path: string, made: ReadonlySet<string>): boolean {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    if (made.has(folder)) return true
  }
  return false
}

function isIn(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !way.split(sep).includes('node_modules')
}

function isThere(path: string): boolean {
  return unobserved(() => fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined)
}

function pathOf(path: unknown): string | undefined {
  if (typeof path === 'string') return resolve(path)
  if (path instanceof URL && path.protocol === 'file:') return resolve(fileURLToPath(path))
  return Buffer.isBuffer(path) ? resolve(path.toString()) : undefined
}
