import inspector, { Session } from 'node:inspector'
import { isUnobserved } from '../unobserved.ts'
import { replaceProperty, undoAll } from '../replace-property.ts'
import type { Tracker } from '../tracker.ts'

/** Connected inspector sessions, with everything that they enabled, and the port of the inspector. */
export const trackInspectorSessions: Tracker = ({ ledger }) => {
  const connected = new WeakSet<Session>()
  const undoConnect = replaceProperty(
    Session.prototype,
    'connect',
    (original) =>
      function connect(this: Session) {
        original.call(this)
        if (isUnobserved()) return
        connected.add(this)
        ledger.add({
          isAlive: () => connected.has(this),
          describe: () => ({ kind: 'inspector', detail: 'a connected session' }),
        })
      },
  )
  const undoDisconnect = replaceProperty(
    Session.prototype,
    'disconnect',
    (original) =>
      function disconnect(this: Session) {
        connected.delete(this)
        original.call(this)
      },
  )
  const undoOpen = replaceProperty(inspector, 'open', (original) => (...args) => {
    const opened = original(...args)
    const url = inspector.url()
    ledger.add({
      isAlive: () => inspector.url() !== undefined && inspector.url() === url,
      describe: () => ({ kind: 'inspector', detail: `listening at ${url}` }),
    })
    return opened
  })
  return undoAll([undoConnect, undoDisconnect, undoOpen])
}
