import type { Demo } from './demo.ts'
import { listenToKeys } from './terminal/keys.ts'
import { kill } from './tour/kill.ts'
import { QuitError } from './tour/progress.ts'
import type { Stage } from './tour/stage.ts'
import { stepDown } from './tour/step-down.ts'
import { stuck } from './tour/stuck.ts'
import { terminate } from './tour/terminate.ts'
import type { Act } from './tour/tour.ts'

const ACTS: Readonly<Record<string, Act['play']>> = { s: stepDown, t: terminate, k: kill, x: stuck }

/** Stays up until somebody ends it. In a terminal, keys play single acts, one after the other. */
export async function keepUp(demo: Demo, stage: Stage): Promise<void> {
  const { promise: quit, resolve } = Promise.withResolvers<void>()
  demo.progress.signal.addEventListener('abort', () => resolve(), { once: true })
  let playing = false
  const play = async (act: Act['play']) => {
    if (playing) return
    playing = true
    await act({ ...stage, pauseMs: 0 }).catch((error: unknown) => note(demo, error))
    playing = false
  }
  const stopListening = listenToKeys((key) => {
    const act = ACTS[key]
    if (act !== undefined) void play(act)
  })
  demo.screen.line()
  demo.screen.line(
    stopListening === undefined
      ? 'Staying up until SIGINT or SIGTERM.'
      : 'Keys: s step down, t SIGTERM, k SIGKILL, x a task that does not stop, q quit',
    'bold',
  )
  await quit
  stopListening?.()
  const { reason } = demo.progress.signal
  if (!(reason instanceof QuitError)) note(demo, reason)
}

function note({ problems, screen }: Demo, error: unknown): void {
  if (error instanceof QuitError) return
  const text = error instanceof Error ? error.message : String(error)
  problems.push(text)
  screen.line(text, 'red')
}
