import { LeaseDetail } from './detail.js'
import { durationText } from './layout.js'
import { LeaseList } from './lease-list.js'
import { Model } from './model.js'
import { showReplicas } from './replicas.js'
import { connect } from './server.js'
import { defineTimelines } from './timeline.js'

/** @param {string} id */
const find = (id) => /** @type {any} */ (document.getElementById(id))

defineTimelines()
const model = new Model()
const timeline = /** @type {import('./timeline.js').TenureTimeline} */ (find('timeline'))
const { view } = timeline
const detail = new LeaseDetail(find)
const list = new LeaseList(find('leases'), (key) => detail.show(model.leases.get(key), model.allowsActions))

/** Shows all leases, after a snapshot or when there is another one. */
function showAll() {
  const leases = [...model.leases.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1))
  timeline.leases = leases
  timeline.hidden = leases.length === 0
  find('empty').hidden = leases.length > 0
  find('count').textContent = `(${leases.length})`
  list.showAll(leases)
  showChosen()
}

function showChosen() {
  detail.show(model.leases.get(list.chosen ?? ''), model.allowsActions)
}

/** @param {string[]} keys */
function showNews(keys) {
  if (keys.some((key) => !timeline.leases.some((lease) => lease.key === key))) showAll()
  else if (keys.length > 0) {
    timeline.leases = timeline.leases.map((lease) => model.leases.get(lease.key) ?? lease)
    for (const key of keys) {
      const lease = model.leases.get(key)
      if (lease !== undefined) list.show(lease)
    }
    if (list.chosen !== undefined && keys.includes(list.chosen)) showChosen()
  }
  timeline.isDirty = true
}

/**
 * @param {string} text
 * @param {boolean} isProblem
 */
function showState(text, isProblem) {
  const state = find('connection')
  state.className = isProblem ? 'problem' : ''
  state.textContent = text
}

function showConnection() {
  if (model.problem !== '') showState(model.problem, true)
  else if (model.wasRestarted)
    showState('Connected again. The server was restarted, so the timeline begins again.', false)
  else showState(model.allowsActions ? 'Connected' : 'Connected, read-only', false)
}

/**
 * @param {string} kind
 * @param {any} message
 */
function onMessage(kind, message) {
  if (kind === 'news') {
    showNews(model.takeNews(message))
    return
  }
  if (kind === 'snapshot') {
    model.takeSnapshot(message)
    find('title').textContent = model.title
    showAll()
  }
  if (kind === 'replicas') model.replicas = message.replicas
  if (kind === 'problem') model.problem = message.problem
  showReplicas(find('replicas'), model.replicas)
  if (kind !== 'replicas') showConnection()
  timeline.isDirty = true
}

/** @param {() => void} change */
function changeView(change) {
  change()
  timeline.isDirty = true
  find('now').setAttribute('aria-pressed', String(view.endAt === undefined))
  find('span').textContent = `${durationText(view.spanMs)} in view`
}

/** @type {Record<string, () => void>} */
const commands = {
  'zoom-in': () => view.zoom(0.5),
  'zoom-out': () => view.zoom(2),
  earlier: () => view.move(-0.25, model.now()),
  later: () => view.move(0.25, model.now()),
  now: () => view.follow(),
}

/** @type {Record<string, string>} */
const KEYS = { '+': 'zoom-in', '=': 'zoom-in', '-': 'zoom-out', 0: 'now' }

for (const [id, change] of Object.entries(commands)) find(id).addEventListener('click', () => changeView(change))

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLSelectElement) return
  const sideways = event.shiftKey ? { ArrowLeft: 'earlier', ArrowRight: 'later' }[event.key] : undefined
  const change = commands[sideways ?? KEYS[event.key] ?? '']
  if (change === undefined) return
  event.preventDefault()
  changeView(change)
})

timeline.addEventListener(
  'wheel',
  (event) => {
    if (!event.ctrlKey) return
    event.preventDefault()
    changeView(() => view.zoom(event.deltaY > 0 ? 1.25 : 0.8))
  },
  { passive: false },
)

function drawFrame() {
  const now = model.now()
  if (!timeline.hidden) timeline.draw(now)
  find('terms').draw(now, view)
  requestAnimationFrame(drawFrame)
}

changeView(() => {})
connect({ onMessage, onState: showState })
requestAnimationFrame(drawFrame)
