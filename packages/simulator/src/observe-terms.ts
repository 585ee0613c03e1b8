import type { Extension, StepDownOptions, Term } from '@tenure/core'
import type { SpawnOptions } from '@tenure/core/internal'
import { type Actor, actors } from './actors.ts'
import type { Run } from './run.ts'
import type { TermLife } from './term-life.ts'

/**
 * Observes the work in the terms of a process, independently of what Tenure tracks. It replaces the methods of each Term by ones that
 * record what starts and what ends.
 */
export function observeTerms(run: Run, lives: ReadonlyMap<string, TermLife>): Extension {
  return {
    name: 'observer',
    onTerm(term: Term) {
      const life = lives.get(term.lease)
      if (life !== undefined && life.epoch === term.epoch) observe(run, life, term)
      return () => {}
    },
  }
}

/** A term that keeps how far it has written, as those of the core do. */
type WritingTerm = Term & { noteVersion?(collection: string, version: string): void }

function observe(run: Run, life: TermLife, term: WritingTerm): void {
  life.noteVersion = (collection, version) => term.noteVersion?.(collection, version)
  const actor: Actor = { term: life }
  const spawn = term.spawn.bind(term)
  const sleep = term.sleep.bind(term)
  const defer = term.defer.bind(term)
  const stepDown = term.stepDown.bind(term)
  const tracked = (name: string, work: () => unknown) => async () => {
    const task = `${term.controller}/${name}`
    life.taskBegan(task)
    run.tell({ kind: 'task-began', term: life, task })
    try {
      return await actors.run(actor, work)
    } finally {
      life.taskEnded(task)
    }
  }
  const observed = {
    spawn: <T>(name: string, work: (signal: AbortSignal) => T | Promise<T>, options?: SpawnOptions): Promise<T> =>
      spawn(name, (signal) => tracked(name, () => work(signal))() as Promise<T>, options),
    defer: (cleanup: (signal: AbortSignal) => unknown): void =>
      defer((signal) => tracked('cleanup', () => cleanup(signal))()),
    async sleep(delayMs: number): Promise<void> {
      const wait = `a sleep of ${delayMs} ms in ${term.controller}`
      life.waitBegan(wait)
      try {
        await sleep(delayMs)
      } finally {
        life.waitEnded(wait)
        run.tell({ kind: 'acted', term: life, what: 'woke up' })
      }
    },
    // The work of the elector does not belong to the term.
    stepDown: (options?: StepDownOptions): void => actors.run({ term: undefined }, () => stepDown(options)),
  }
  Object.assign(term, observed)
  for (const signal of [term.signal, term.hardSignal]) bindListeners(signal, actor)
}

type Listener = (event: Event) => void
type Listening = Listener | { readonly handleEvent: Listener }

/** Attributes listeners on a signal of the term to the term, whichever code aborts the signal. */
function bindListeners(signal: AbortSignal, actor: Actor): void {
  const bound = new WeakMap<object, Listener>()
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  const boundTo = (listening: Listening): Listener => {
    const known = bound.get(listening)
    if (known !== undefined) return known
    const listener: Listener = (event) =>
      actors.run(actor, () => (typeof listening === 'function' ? listening(event) : listening.handleEvent(event)))
    bound.set(listening, listener)
    return listener
  }
  Object.assign(signal, {
    addEventListener: (type: string, listening: Listening, options?: { readonly once?: boolean }) =>
      add(type, boundTo(listening), options),
    removeEventListener: (type: string, listening: Listening, options?: { readonly capture?: boolean }) =>
      remove(type, boundTo(listening), options),
  })
}
