import dns from 'node:dns'
import net from 'node:net'
import type { EntryContext, Ledger } from '../ledger.ts'
import { currentOrigin } from '../origin.ts'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import { takeTrace } from '../trace.ts'
import type { Tracker } from '../tracker.ts'

type Call = (this: unknown, ...args: unknown[]) => unknown

/** Who has changed what there is once in a process, as far as that takes a call or an assignment that can be seen. */
export const trackProcessSetters: Tracker = ({ ledger }) =>
  undoAll([
    noteCalls(ledger, process, 'chdir', 'process.cwd()'),
    noteCalls(ledger, process, 'umask', 'process.umask()'),
    noteCalls(ledger, process, 'setUncaughtExceptionCaptureCallback', 'process.hasUncaughtExceptionCaptureCallback()'),
    noteCalls(ledger, dns, 'setServers', 'dns.getServers()'),
    noteCalls(ledger, dns, 'setDefaultResultOrder', 'dns.getDefaultResultOrder()'),
    noteCalls(ledger, net, 'setDefaultAutoSelectFamily', 'net.getDefaultAutoSelectFamily()'),
    noteEnvironment(ledger),
  ])

function noteCalls<K extends PropertyKey>(ledger: Ledger, target: Record<K, unknown>, name: K, state: string): Undo {
  return replaceProperty(
    target as Record<K, Call>,
    name,
    (original) =>
      function noted(...args) {
        if (args.length > 0) ledger.noteSetter(state, present())
        return original.apply(this, args)
      },
  )
}

/** Code that has taken `process.env` before goes on with the original, which is the same variables. */
function noteEnvironment(ledger: Ledger): Undo {
  const own = Object.getOwnPropertyDescriptor(process, 'env')
  const original = process.env
  const note = (name: string | symbol) => ledger.noteSetter(`process.env.${String(name)}`, present())
  const env = new Proxy(original, {
    set(target, name, value) {
      note(name)
      return Reflect.set(target, name, value)
    },
    defineProperty(target, name, descriptor) {
      note(name)
      return Reflect.defineProperty(target, name, descriptor)
    },
    deleteProperty(target, name) {
      note(name)
      return Reflect.deleteProperty(target, name)
    },
  })
  if (own?.configurable !== true || !('value' in own)) return () => {}
  Object.defineProperty(process, 'env', { ...own, value: env })
  return () => {
    if (process.env === env) Object.defineProperty(process, 'env', own)
  }
}

function present(): EntryContext {
  return { trace: takeTrace(), origin: currentOrigin() }
}
