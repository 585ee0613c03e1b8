import fs, { Dir } from 'node:fs'
import fsPromises from 'node:fs/promises'
import type { EntryContext, Ledger } from '../ledger.ts'
import { currentOrigin } from '../origin.ts'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import { takeTrace } from '../trace.ts'
import type { Tracker } from '../tracker.ts'

type Method = (this: unknown, ...args: unknown[]) => unknown

/**
 * Directories opened with `opendir()`, until they are closed or read to the end.
 *
 * They are held strongly until then. Node would otherwise close a garbage handle and hide the leak.
 */
export const trackDirectoryHandles: Tracker = ({ ledger }) => {
  const closed = new WeakSet<object>()
  return undoAll([
    watchClose(closed, 'close'),
    watchClose(closed, 'closeSync'),
    watchOpen(ledger, closed, { target: fsPromises, name: 'opendir' }),
    watchOpen(ledger, closed, { target: fs, name: 'opendir' }),
    watchOpen(ledger, closed, { target: fs, name: 'opendirSync' }),
  ])
}

function watchClose(closed: WeakSet<object>, name: 'close' | 'closeSync'): Undo {
  return replaceProperty(
    Dir.prototype as unknown as Record<typeof name, Method>,
    name,
    (original) =>
      function close(this: unknown, ...args) {
        closed.add(this as Dir)
        return original.apply(this, args)
      },
  )
}

interface Opener {
  readonly target: object
  readonly name: 'opendir' | 'opendirSync'
}

/** A directory comes as the result, as that of a promise, or to a callback. */
function watchOpen(ledger: Ledger, closed: WeakSet<object>, { target, name }: Opener): Undo {
  return replaceProperty(target as Record<typeof name, Method>, name, (original) => (...args) => {
    const context = { trace: takeTrace(), origin: currentOrigin() }
    const opened = (dir: unknown) => {
      if (dir instanceof Dir) enter(ledger, closed, { dir, context })
    }
    const callback = args.at(-1)
    if (typeof callback === 'function') {
      return original(...args.slice(0, -1), (error: unknown, dir: unknown) => {
        opened(dir)
        callback(error, dir)
      })
    }
    const result = original(...args)
    if (result instanceof Promise) result.then(opened, () => {})
    else opened(result)
    return result
  })
}

function enter(
  ledger: Ledger,
  closed: WeakSet<object>,
  { dir, context }: { readonly dir: Dir; readonly context: EntryContext },
): void {
  ledger.add(
    { isAlive: () => !closed.has(dir), describe: () => ({ kind: 'directory-handle', detail: dir.path }) },
    context,
  )
}
