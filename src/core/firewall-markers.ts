import type { Marker } from './marker.ts';

/** Refusals and tests of firewalls that stand in front of a site. */
export const FIREWALL_MARKERS: readonly Marker[] = [
  {
    id: 'f5-block',
    kind: 'block',
    signs: [
      {
        text: [
          'the requested url was rejected',
          'url wurde abgelehnt',
          'url wurde abgewiesen',
          'url demandée a été rejetée',
          'url solicitada fue rechazada',
          'url solicitada foi rejeitada',
          'url richiesto è stato rifiutato',
        ],
        title: ['request rejected'],
      },
      {
        text: [
          'support id',
          'support-id',
          'id de suporte',
          'id de soporte',
          'id di supporto',
          'identifiant de support',
          'please consult with your administrator',
        ],
      },
    ],
  },
  {
    id: 'f5-challenge',
    kind: 'challenge',
    signs: [{ body: ['window["bobcmn"]', "window['bobcmn']", 'bobcmn'] }, { body: ['/tspd/'] }],
  },
  {
    id: 'radware-challenge',
    kind: 'challenge',
    signs: [
      { body: ['perfdrive.com', 'shieldsquare'], title: ['radware'] },
      {
        title: ['captcha page', 'bot manager captcha'],
        text: ['why did this happen', 'we apologize for the inconvenience', 'not a robot'],
      },
    ],
  },
  {
    id: 'fortiweb-block',
    kind: 'block',
    signs: [
      { text: ['web page blocked', 'the page cannot be displayed'] },
      { text: ['attack id', 'fortinet', 'fortigate'], body: ['fortiguard'] },
    ],
  },
];
