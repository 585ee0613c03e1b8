import { canDo } from '../engine/fleet.ts'
import type { Replica } from '../engine/replica.ts'
import { type Action, REPLICAS } from '../engine/script.ts'
import { buttonOf, withText } from './elements.ts'

/** What a button does, and what it undoes once it was done. */
const BUTTONS: readonly (readonly [action: Action, text: string])[][] = [
  [
    ['pause', 'Pause'],
    ['resume', 'Continue'],
  ],
  [
    ['cut', 'Cut off'],
    ['reconnect', 'Connect'],
  ],
  [
    ['kill', 'Kill'],
    ['start', 'Start'],
  ],
  [
    ['skew', 'Make the clock fast of'],
    ['set-clock', 'Set the clock right of'],
  ],
  [['step-down', 'Step down']],
]

/** The replicas with their buttons. Buttons are kept, so that they keep the focus. */
export class ReplicaList {
  readonly #refresh: readonly ((replica: Replica) => void)[]

  constructor(list: HTMLElement, onAct: (action: Action, replica: number) => void) {
    this.#refresh = Array.from({ length: REPLICAS }, (_, index) => itemIn(list, index + 1, onAct))
  }

  show(replicas: readonly Replica[]): void {
    replicas.forEach((replica, index) => this.#refresh[index]?.(replica))
  }
}

function itemIn(
  list: HTMLElement,
  number: number,
  onAct: (action: Action, replica: number) => void,
): (replica: Replica) => void {
  const item = document.createElement('li')
  item.dataset['replica'] = String(number)
  const text = withText('span', '')
  text.className = 'state'
  const now: Action[] = []
  const buttons = BUTTONS.map(([first], index) =>
    buttonOf('', () => onAct(now[index] ?? first?.[0] ?? 'pause', number)),
  )
  item.append(text, ...buttons)
  list.append(item)
  return (replica) => {
    text.textContent = textOf(replica)
    BUTTONS.forEach((choices, index) => {
      const button = buttons[index]
      const choice = choices.find(([action]) => canDo(replica, action))
      const [action, label] = choice ?? choices[0] ?? ['pause', '']
      now[index] = action
      if (button === undefined) return
      setText(button, `${label} ${replica.name}`)
      button.disabled = choice === undefined
    })
  }
}

function textOf({ name, state, isCut, isSkewed, rate }: Replica): string {
  const percent = Math.round((rate - 1) * 1000) / 10
  const clock = `, clock ${Math.abs(percent)} % ${percent < 0 ? 'slow' : 'fast'}`
  return `${name}: ${state}${isCut ? ', cut off' : ''}${clock}${isSkewed ? ', wall clock 30 s fast' : ''}`
}

function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text
}
