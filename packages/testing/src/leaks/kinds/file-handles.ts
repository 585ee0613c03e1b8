import type { EventEmitter } from 'node:events'
import fsPromises from 'node:fs/promises'
import { currentOrigin } from '../origin.ts'
import { replaceProperty } from '../replace-property.ts'
import { takeTrace } from '../trace.ts'
import type { Tracker } from '../tracker.ts'
import { unobserved } from '../unobserved.ts'

/**
 * FileHandles of `fs.promises.open()`, until they are closed.
 *
 * They are held strongly until then. Node would otherwise close a garbage handle, hide the leak, and warn or throw later.
 */
export const trackFileHandles: Tracker = ({ ledger }) =>
  replaceProperty(fsPromises, 'open', (original) => async (...args) => {
    const context = { trace: takeTrace(), origin: currentOrigin() }
    const handle = await original.apply(fsPromises, args)
    const entry = ledger.add(
      {
        fd: handle.fd,
        isAlive: () => handle.fd >= 0,
        describe: () => ({ kind: 'file-handle', detail: `${handle.fd} of ${String(args[0])}` }),
      },
      context,
    )
    unobserved(() => (handle as unknown as EventEmitter).once('close', () => ledger.remove(entry)))
    return handle
  })
