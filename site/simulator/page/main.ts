import { DEFECTS } from '../engine/defects.ts'
import { scriptOf } from '../engine/script.ts'
import { parseAddress, type RunOptions, Session } from '../engine/session.ts'
import { TraceRun } from '../engine/trace-run.ts'
import { unpackTrace } from '../engine/trace-text.ts'
import { find } from './elements.ts'
import { Player } from './player.ts'
import { ReplicaList } from './replica-list.ts'

/** How long the random actions of a seed go on. */
const SEED_SCRIPT_MS = 60_000

let options = parseAddress('')
/** Undefined while a trace is shown. */
let session: Session | undefined = new Session(options)
let trace: readonly string[] = []

const list = new ReplicaList(find('replica-list'), (action, replica) =>
  player.inTurn(async () => {
    session?.act(action, replica)
    await player.setRunning(true)
  }),
)
const player = new Player(session, () => {
  if (session !== undefined) list.show(session.fleet.replicas)
})

async function begin(next: RunOptions, runs: boolean): Promise<void> {
  options = next
  session = new Session(next)
  find('seed', HTMLInputElement).value = String(next.seed)
  showDefect()
  find('replicas').hidden = false
  await player.open(session, runs)
}

async function beginTrace(files: readonly string[]): Promise<void> {
  const run = new TraceRun(files)
  trace = files
  session = undefined
  find('replicas').hidden = true
  await player.open(run, false)
}

function showDefect(): void {
  const defect = DEFECTS.find(({ id }) => id === options.defect)
  find(`defect-${defect?.id ?? 'none'}`, HTMLInputElement).checked = true
  find('recipe').textContent = defect?.recipe ?? ''
  find('show').hidden = defect === undefined
}

/** Opens what the reader asked for, or says why that is not possible. */
async function attempt(open: () => Promise<void>): Promise<void> {
  const problem = find('problem')
  problem.hidden = true
  try {
    await open()
  } catch (error) {
    problem.hidden = false
    problem.textContent = `This cannot be opened. ${(error as Error).message}`
    player.show()
  }
}

/** A run that an address describes waits for the reader. */
async function openAddress(hash: string): Promise<void> {
  const packed = new URLSearchParams(hash.slice(1)).get('trace')
  if (packed !== null) await beginTrace(await unpackTrace(packed))
  else await begin(parseAddress(hash), hash === '')
}

function addDefect(id: string | undefined, title: string): void {
  const label = document.createElement('label')
  const radio = document.createElement('input')
  radio.type = 'radio'
  radio.name = 'defect'
  radio.id = `defect-${id ?? 'none'}`
  radio.addEventListener('change', () => player.inTurn(() => begin({ ...options, defect: id, script: [] }, true)))
  label.append(radio, ` ${title}`)
  find('defects').append(label)
}

/** What the buttons do. */
const COMMANDS: Readonly<Record<string, () => void | Promise<void>>> = {
  run: () => player.toggle(),
  step: () => player.step(),
  again: () => (session === undefined ? beginTrace(trace) : begin({ ...options, script: session.script }, false)),
  'zoom-in': () => player.zoom(0.5),
  'zoom-out': () => player.zoom(2),
  show: () => begin({ ...options, script: DEFECTS.find(({ id }) => id === options.defect)?.script ?? [] }, true),
  random: () => {
    const seed = Number(find('seed', HTMLInputElement).value)
    return begin({ ...options, seed, script: scriptOf(seed, SEED_SCRIPT_MS) }, true)
  },
}

addDefect(undefined, 'None: the code of production')
for (const { id, title } of DEFECTS) addDefect(id, title)
for (const [id, command] of Object.entries(COMMANDS)) find(id).addEventListener('click', () => player.inTurn(command))
const files = find('trace', HTMLInputElement)
files.addEventListener('change', () =>
  player.inTurn(() =>
    attempt(async () => beginTrace(await Promise.all(Array.from(files.files ?? [], (file) => file.text())))),
  ),
)
addEventListener('hashchange', ({ newURL }) => {
  const { hash } = new URL(newURL)
  player.inTurn(() => attempt(() => openAddress(hash)))
})
showDefect()
player.inTurn(() => attempt(() => openAddress(location.hash)))
