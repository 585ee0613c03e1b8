import { durationText } from '../../../packages/cli/page/layout.js'
import { defineTimelines, TenureTerms } from '../../../packages/cli/page/timeline.js'
import { DEFECTS } from '../engine/defects.ts'
import type { LogLine } from '../engine/fleet.ts'
import { scriptOf } from '../engine/script.ts'
import { parseAddress, type RunOptions, Session } from '../engine/session.ts'
import { find, withText } from './elements.ts'
import { BEGINNING, leaseOf } from './lease-of.ts'
import { ReplicaList } from './replica-list.ts'

/** The time that the bands show. */
const VIEW = { spanMs: 30_000, endAt: undefined }

/** A tab in the background gets no frames. What it missed does not happen at once. */
const LONGEST_FRAME_MS = 100

defineTimelines()
const terms = find('terms', TenureTerms)
const lanes = find('lanes')
const canvas = terms.querySelector('canvas')
const list = new ReplicaList(find('replica-list'), (action, replica) =>
  inTurn(() => {
    session.act(action, replica)
    setRunning(true)
    show()
  }),
)
/** What the reader asks for waits until the present frame has ended. */
let last: Promise<void> = Promise.resolve()
let options: RunOptions
let session: Session
let isRunning = false
let shownLines = 0

function inTurn(turn: () => void | Promise<void>): void {
  last = last.then(turn)
}

/** Begins a run. It waits for the reader if it has a script. */
function begin(next: RunOptions, runs: boolean): void {
  options = next
  session = new Session(next)
  shownLines = 0
  find('log').replaceChildren()
  find('seed', HTMLInputElement).value = String(next.seed)
  showDefect()
  setRunning(runs)
  show()
}

function beginFromAddress(): void {
  const problem = find('problem')
  problem.hidden = true
  try {
    begin(parseAddress(location.hash), location.hash === '')
  } catch (error) {
    problem.hidden = false
    problem.textContent = `This address cannot be opened. ${(error as Error).message}`
    begin(parseAddress(''), false)
  }
}

function setRunning(runs: boolean): void {
  isRunning = runs
  find('run').textContent = runs ? 'Stop' : 'Run'
  if (!runs) history.replaceState(null, '', `#${session.address}`)
}

function showDefect(): void {
  const defect = DEFECTS.find(({ id }) => id === options.defect)
  find(`defect-${defect?.id ?? 'none'}`, HTMLInputElement).checked = true
  find('recipe').textContent = defect?.recipe ?? ''
  find('show').hidden = defect === undefined
}

function show(): void {
  const { fleet } = session
  list.show(fleet.replicas)
  terms.lease = leaseOf(fleet)
  if (lanes.childElementCount === 0) lanes.append(...fleet.replicas.map(({ name }) => withText('li', name)))
  terms.draw(BEGINNING + fleet.now, VIEW)
  find('time').textContent = secondsText(fleet.now)
  find('address', HTMLAnchorElement).href = `#${session.address}`
  showVerdict()
  for (const line of fleet.log.slice(shownLines)) find('log').append(itemOf(line))
  if (shownLines < fleet.log.length) find('log').scrollTop = find('log').scrollHeight
  shownLines = fleet.log.length
}

function showVerdict(): void {
  const { overlaps, terms: all } = session.fleet
  const longest = Math.max(0, ...overlaps.map(({ from, to }) => to - from))
  const verdict = find('verdict')
  const count = all.length === 1 ? '1 term' : `${all.length} terms`
  const text =
    overlaps.length === 0
      ? `${count}. No two overlap.`
      : `${count}. Two of them overlap${isRunning ? '' : ` for ${durationText(longest)}`}.`
  verdict.className = overlaps.length === 0 ? '' : 'problem'
  // A screen reader reads every change.
  if (verdict.textContent !== text) verdict.textContent = text
  canvas?.setAttribute('aria-label', `Bands of terms. ${text}`)
}

function itemOf({ at, who, what, isOverlap }: LogLine): HTMLElement {
  const item = withText('li', `${secondsText(at)} ${who} ${what}`)
  if (isOverlap) item.className = 'overlap'
  return item
}

function secondsText(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`
}

function addDefect(id: string | undefined, title: string): void {
  const label = document.createElement('label')
  const radio = document.createElement('input')
  radio.type = 'radio'
  radio.name = 'defect'
  radio.id = `defect-${id ?? 'none'}`
  radio.addEventListener('change', () => inTurn(() => begin({ ...options, defect: id, script: [] }, true)))
  label.append(radio, ` ${title}`)
  find('defects').append(label)
}

/** Lets as much time pass as has passed for the reader, times the speed. */
async function frame(elapsedMs: number): Promise<void> {
  if (!isRunning) return
  const speed = Number(find('speed', HTMLSelectElement).value)
  await session.advance(Math.min(elapsedMs, LONGEST_FRAME_MS) * speed)
  show()
}

function onFrame(before: number): void {
  requestAnimationFrame((now) => {
    inTurn(() => frame(now - before))
    inTurn(() => onFrame(now))
  })
}

addDefect(undefined, 'None: the code of production')
for (const { id, title } of DEFECTS) addDefect(id, title)

/** What the buttons do. */
const COMMANDS: Readonly<Record<string, () => void | Promise<void>>> = {
  run: () => setRunning(!isRunning),
  again: () => begin({ ...options, script: session.script }, false),
  step: async () => {
    await session.step()
    setRunning(false)
    show()
  },
  show: () => begin({ ...options, script: DEFECTS.find(({ id }) => id === options.defect)?.script ?? [] }, true),
  random: () => {
    const seed = Number(find('seed', HTMLInputElement).value)
    begin({ ...options, seed, script: scriptOf(seed, 60_000) }, true)
  },
}
for (const [id, command] of Object.entries(COMMANDS)) find(id).addEventListener('click', () => inTurn(command))
addEventListener('hashchange', () => inTurn(beginFromAddress))
beginFromAddress()
onFrame(performance.now())
