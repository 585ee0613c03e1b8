import fs from 'node:fs'
import fsPromises from 'node:fs/promises'
import type { EntryContext, Ledger } from '../ledger.ts'
import { currentOrigin } from '../origin.ts'
import { replaceProperty, undoAll } from '../replace-property.ts'
import { takeTrace } from '../trace.ts'
import type { Tracker } from '../tracker.ts'

type MakeSync = (...args: unknown[]) => string
type Make = (...args: unknown[]) => Promise<string>
type MakeThen = (...args: unknown[]) => void

/** Folders made with `mkdtemp()`, until they are gone. */
export const trackTemporaryDirectories: Tracker = ({ ledger }) =>
  undoAll([
    replaceProperty(fs as unknown as { mkdtempSync: MakeSync }, 'mkdtempSync', (original) => (...args) => {
      const path = original(...args)
      enter(ledger, path, present())
      return path
    }),
    replaceProperty(fsPromises as unknown as { mkdtemp: Make }, 'mkdtemp', (original) => async (...args) => {
      const context = present()
      const path = await original(...args)
      enter(ledger, path, context)
      return path
    }),
    replaceProperty(fs as unknown as { mkdtemp: MakeThen }, 'mkdtemp', (original) => (...args) => {
      const callback = args.at(-1)
      if (typeof callback !== 'function') return original(...args)
      const context = present()
      return original(...args.slice(0, -1), (error: unknown, path: unknown) => {
        if (typeof path === 'string') enter(ledger, path, context)
        callback(error, path)
      })
    }),
  ])

function enter(ledger: Ledger, path: string, context: EntryContext): void {
  ledger.add(
    { isAlive: () => fs.existsSync(path), describe: () => ({ kind: 'temporary-directory', detail: path }) },
    context,
  )
}

function present(): EntryContext {
  return { trace: takeTrace(), origin: currentOrigin() }
}
