import { arrow, card, line, text } from './svg.ts'

const ACTORS = ['leader', 'lease', 'successor', 'other followers'] as const
type Actor = (typeof ACTORS)[number]

/** A message from one actor to another, or a note beside one. */
type Step =
  { readonly from: Actor; readonly to: Actor; readonly label: string } | { readonly at: Actor; readonly label: string }

const STEPS: readonly Step[] = [
  { at: 'leader', label: 'stop or stepDown(): signal aborts' },
  { from: 'leader', to: 'lease', label: 'renew + offer' },
  { from: 'lease', to: 'successor', label: 'watch: offer' },
  { from: 'successor', to: 'lease', label: 'answer: a number used once' },
  { from: 'lease', to: 'leader', label: 'watch: answer' },
  { from: 'lease', to: 'other followers', label: 'watch: answered, so they wait' },
  { at: 'leader', label: 'last task and cleanup end' },
  { from: 'leader', to: 'lease', label: 'transfer: holder, number' },
  { from: 'lease', to: 'successor', label: 'watch: its own number' },
  { at: 'successor', label: 'the term begins' },
  { from: 'successor', to: 'lease', label: 'renew for the full duration' },
  { at: 'leader', label: 'follows' },
]

const WIDTH = 860
const ROW = 34
const TOP = 92
const TITLE = 'A transfer: the lease goes to a chosen successor in one write'

/** Draws the transfer as a sequence. */
export function transfer(): string {
  const height = TOP + STEPS.length * ROW + 16
  return card(TITLE, WIDTH, height, [
    text(TITLE, { x: 20, y: 28, look: 'head' }),
    ...ACTORS.flatMap((actor) => drawActor(actor, height)),
    ...STEPS.flatMap((step, row) => drawStep(step, TOP + row * ROW)),
  ])
}

function x(actor: Actor): number {
  return 130 + ACTORS.indexOf(actor) * 210
}

function drawActor(actor: Actor, height: number): readonly string[] {
  return [
    `<rect class="wait" x="${x(actor) - 62}" y="44" width="124" height="26" rx="4"/>`,
    text(actor, { x: x(actor), y: 62, anchor: 'middle', look: 'onbar' }),
    line('rule', { x1: x(actor), y1: 70, x2: x(actor), y2: height - 14 }),
  ]
}

function drawStep(step: Step, y: number): readonly string[] {
  if ('at' in step) return drawNote(step.at, step.label, y)
  const [from, to] = [x(step.from), x(step.to)]
  return [arrow(from, to, y + 14), text(step.label, { x: labelX(from, to), y: y + 8, anchor: 'middle', look: 'small' })]
}

/** An arrow that crosses another actor has its label in its last part. */
function labelX(from: number, to: number): number {
  return Math.abs(to - from) > 210 ? to - Math.sign(to - from) * 105 : (from + to) / 2
}

function drawNote(actor: Actor, label: string, y: number): readonly string[] {
  const width = 210
  return [
    `<rect class="go" x="${x(actor) - width / 2}" y="${y - 2}" width="${width}" height="22" rx="3"/>`,
    text(label, { x: x(actor), y: y + 13, anchor: 'middle', look: 'onbar' }),
  ]
}
