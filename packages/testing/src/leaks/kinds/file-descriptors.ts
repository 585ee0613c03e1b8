import fs, { type NoParamCallback, type PathLike } from 'node:fs'
import { targetOf } from '../open-files.ts'
import type { Entry, Ledger } from '../ledger.ts'
import { currentOrigin } from '../origin.ts'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import { takeTrace } from '../trace.ts'
import type { Tracker } from '../tracker.ts'
import { isUnobserved } from '../unobserved.ts'

type OpenCallback = (error: NodeJS.ErrnoException | null, fd: number) => void

/** File descriptors, those of streams among them: `fs.open()` until `fs.close()`, as the calls themselves show. */
export const trackFileDescriptors: Tracker = ({ ledger }) => {
  const open = new Map<number, Entry>()
  return undoAll([watchOpen(ledger, open), watchOpenSync(ledger, open), ...watchClose(ledger, open)])
}

function watchOpen(ledger: Ledger, open: Map<number, Entry>): Undo {
  const holder = fs as unknown as { open: (path: PathLike, ...rest: unknown[]) => void }
  return replaceProperty(holder, 'open', (original) => (path, ...rest) => {
    const callback = rest.at(-1)
    if (typeof callback !== 'function' || isUnobserved()) return original.call(fs, path, ...rest)
    const context = { trace: takeTrace(), origin: currentOrigin() }
    const opened: OpenCallback = (error, fd) => {
      if (error === null) open.set(fd, ledger.add(descriptor(fd, path), context))
      callback(error, fd)
    }
    return original.call(fs, path, ...rest.slice(0, -1), opened)
  })
}

function watchOpenSync(ledger: Ledger, open: Map<number, Entry>): Undo {
  return replaceProperty(fs, 'openSync', (original) => (...args) => {
    const fd = original.apply(fs, args)
    if (!isUnobserved()) open.set(fd, ledger.add(descriptor(fd, args[0])))
    return fd
  })
}

function watchClose(ledger: Ledger, open: Map<number, Entry>): readonly Undo[] {
  const forget = (fd: number) => {
    const entry = open.get(fd)
    open.delete(fd)
    if (entry !== undefined) ledger.remove(entry)
  }
  const holder = fs as unknown as { close: (fd: number, callback?: NoParamCallback) => void }
  return [
    replaceProperty(holder, 'close', (original) => (fd, ...callback) => {
      forget(fd)
      return original.call(fs, fd, ...callback)
    }),
    replaceProperty(fs, 'closeSync', (original) => (fd) => {
      forget(fd)
      return original.call(fs, fd)
    }),
  ]
}

function descriptor(fd: number, path: PathLike): Parameters<Ledger['add']>[0] {
  const target = targetOf(fd)
  return {
    fd,
    isAlive: () => isOpen(fd) && targetOf(fd) === target,
    describe: () => ({ kind: 'file-descriptor', detail: `${fd} of ${String(path)}` }),
  }
}

function isOpen(fd: number): boolean {
  try {
    fs.fstatSync(fd)
    return true
  } catch {
    return false
  }
}
