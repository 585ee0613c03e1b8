import { textOf } from '@tenure/core/internal'
import type { Terminal } from '../terminal.ts'

/** What keys do. */
export interface KeyActions {
  readonly names: readonly string[]
  /** The replicas that lead now. */
  readonly leaders: () => Promise<ReadonlySet<string>>
  readonly stepDown: () => Promise<void>
  readonly kill: (name: string) => void
  readonly togglePause: (name: string) => void
  readonly toggleCut: (name: string) => void
  /** Called at the first request to quit. */
  readonly quit: () => void
  /** Called at any further one. */
  readonly hurry: () => void
}

/** What the keys do, in one line. */
export const KEYS_HELP =
  'Keys: s step down, k kill, p pause or continue, c cut off or reconnect the leader, or the replica of a digit pressed before; q quit\n'

const CTRL_C = '\u0003'

/** Carries out single keys. A digit chooses the replica for the next key; without one, it is the leader. */
export class DevKeys {
  readonly #actions: KeyActions
  readonly #terminal: Pick<Terminal, 'err'>
  #chosen: string | undefined
  #isQuitting = false

  constructor(actions: KeyActions, terminal: Pick<Terminal, 'err'>) {
    this.#actions = actions
    this.#terminal = terminal
  }

  /** Carries out one key. Resolves when that is done; failures are said. */
  async press(key: string): Promise<void> {
    try {
      await this.#press(key)
    } catch (error) {
      this.#terminal.err(`${textOf(error)}\n`)
    }
  }

  async #press(key: string): Promise<void> {
    const { quit, hurry, stepDown, kill, togglePause, toggleCut } = this.#actions
    if (key === 'q' || key === CTRL_C) {
      if (this.#isQuitting) hurry()
      else quit()
      this.#isQuitting = true
    } else if (/^[1-9]$/.test(key)) this.#choose(Number(key))
    else if (key === 's') await stepDown()
    else {
      const act = { k: kill, p: togglePause, c: toggleCut }[key]
      if (act !== undefined) await this.#onChosen(act)
      else if (key === 'h' || key === '?') this.#terminal.err(KEYS_HELP)
    }
  }

  #choose(number: number): void {
    this.#chosen = this.#actions.names[number - 1]
    const text = this.#chosen === undefined ? `There is no replica ${number}.` : `${this.#chosen}: k, p or c?`
    this.#terminal.err(`${text}\n`)
  }

  async #onChosen(act: (name: string) => void): Promise<void> {
    const chosen = this.#chosen === undefined ? [...(await this.#actions.leaders())] : [this.#chosen]
    this.#chosen = undefined
    if (chosen.length === 0) this.#terminal.err('No replica leads. Press the digit of a replica first.\n')
    for (const name of chosen) act(name)
  }
}
