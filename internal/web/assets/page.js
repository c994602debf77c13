// The page's script: it hears which topics have changed, fetches the parts that show them, and changes only what differs. Without
// it the page works, and is as old as its last load.
'use strict';
(() => {
  const state = document.getElementById('live');
  const say = (text) => { if (state && state.textContent !== text) state.textContent = text; };

  // What a person has typed, and not sent, is theirs.
  const dirty = (node) => {
    if (node instanceof HTMLTextAreaElement) return node.value !== node.defaultValue;
    if (!(node instanceof HTMLInputElement) || node.type === 'hidden') return false;
    return node.type === 'checkbox' ? node.checked !== node.defaultChecked : node.value !== node.defaultValue;
  };
  const held = (node) => node instanceof Element &&
    (node.contains(document.activeElement) && document.activeElement.matches('textarea, input') ||
      [node, ...node.querySelectorAll('textarea, input')].some(dirty));

  const callbacks = {
    beforeNodeMorphed: (old, now) => !dirty(old) && !(now instanceof Element && now.hasAttribute('data-same')),
    // What a person is writing in does not vanish below them. When they send it, they are told what became of it.
    beforeNodeRemoved: (old) => {
      if (!held(old)) return true;
      if (old.classList.contains('card')) old.classList.add('gone');
      return false;
    },
    // What a person has opened or closed stays so.
    beforeAttributeUpdated: (name, node) => !(name === 'open' && node instanceof HTMLDetailsElement),
  };

  const title = document.title;
  const counted = (part) => {
    const n = Number(part.dataset.count || 0);
    document.title = n > 0 ? `(${n}) ${title}` : title;
  };

  // What was sent of a part leaves out articles that are the same here: an empty one stands for some beside each other. Each gets one
  // with its id, which is not changed then. It returns nothing if they are not here.
  const completed = (text) => {
    const sent = new DOMParser().parseFromString(text, 'text/html').body.firstElementChild;
    for (const gap of sent.querySelectorAll('[data-same]')) {
      const same = [];
      for (let node = document.getElementById(gap.dataset.same); node && same.at(-1)?.id !== gap.dataset.to; node = node.nextElementSibling) {
        if (node.classList.contains('gone') && !held(node)) continue; // it was kept for what was typed in it
        same.push(node.cloneNode(false));
        same.at(-1).dataset.same = '';
      }
      if (same.at(-1)?.id !== gap.dataset.to) return null;
      gap.replaceWith(...same);
    }
    return sent;
  };

  const fetching = new Map(); // a part's id, and whether it has to be fetched once more
  const refresh = async (id) => {
    if (fetching.has(id)) {
      fetching.set(id, true);
      return;
    }
    fetching.set(id, false);
    try {
      const at = new URL(document.body.dataset.here || location.href, location.href); // after a refused form the browser is elsewhere
      const part = document.getElementById(id);
      at.searchParams.set('part', id);
      at.searchParams.delete('did');
      if (part.dataset.version) at.searchParams.set('have', part.dataset.version);
      const answer = await fetch(at, { cache: 'no-store', credentials: 'same-origin', redirect: 'error' });
      if (answer.status === 401) {
        say('Logged out: load the page again');
      } else if (answer.status === 200 && part.isConnected) {
        const now = completed(await answer.text());
        if (now) {
          Idiomorph.morph(part, now, { morphStyle: 'outerHTML', ignoreActiveValue: true, callbacks });
          counted(document.getElementById(id) || part);
        } else {
          delete part.dataset.version; // all of it, then
          fetching.set(id, true);
        }
      }
    } catch {
      say('Not live: the box does not answer');
    } finally {
      const again = fetching.get(id);
      fetching.delete(id);
      if (again) refresh(id);
    }
  };

  const topics = (document.body.dataset.topics || '').split(' ').filter(Boolean);
  if (topics.length > 0 && window.EventSource && window.Idiomorph) {
    const at = new URL('stream', location.href);
    for (const t of topics) at.searchParams.append('on', t);
    at.searchParams.set('since', document.body.dataset.since || '0');
    const source = new EventSource(at);
    source.addEventListener('open', () => say('Live'));
    source.addEventListener('error', () => say(source.readyState === EventSource.CLOSED ? 'Not live: load the page again' : 'Not live: connecting again'));
    source.addEventListener('over', () => { source.close(); say('Logged out: load the page again'); });
    source.addEventListener('changed', (event) => {
      const changed = JSON.parse(event.data);
      for (const part of document.querySelectorAll('[data-live]')) {
        if (part.dataset.live.split(' ').some((t) => changed.includes(t))) refresh(part.id);
      }
    });
    addEventListener('pagehide', () => source.close());
  }
  document.querySelectorAll('[data-count]').forEach(counted);

  // A click on a line's number begins a comment on it, in the form that belongs to the diff.
  document.addEventListener('click', (event) => {
    const line = event.target instanceof Element ? event.target.closest('[data-at]') : null;
    const field = line && line.closest('.card, main').querySelector('textarea[name=comments]');
    if (!field) return;
    const before = field.value === '' || field.value.endsWith('\n') ? '' : '\n';
    field.value += `${before}${line.dataset.at}: `;
    field.focus();
  });

  // Ctrl+Enter sends the form that somebody writes in, by its first button.
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || !(event.target instanceof HTMLTextAreaElement) || !event.target.form) return;
    const button = event.target.name === 'comments' ? event.target.form.querySelector('button[value=back]') : event.target.form.querySelector('button');
    if (button) event.target.form.requestSubmit(button);
  });
})();
