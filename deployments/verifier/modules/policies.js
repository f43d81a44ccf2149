/** Editions of the policies that come with the software, by the SHA-256 of their files: the same value as in editions.json. */
export const editions = {
 "1243d522176d09614cf50c1c48514bebda8cc00995ad9c56061171ccc4d29312": {
  "name": "ema-0070",
  "date": "2026-11-29",
  "rules": [
   {
    "rule": "forms",
    "allowed": [
     "generalized",
     "suppressed"
    ]
   },
   {
    "rule": "highest-risk",
    "at-most": "0.09"
   },
   {
    "rule": "register-risk",
    "at-most": "0.09"
   },
   {
    "rule": "versions",
    "allowed": [
     "disjoint",
     "composed"
    ]
   }
  ]
 },
 "fe5b04d83c2f19961783bdc22940cffacad40debda568d5786fa58a44d7b3754": {
  "name": "gdpr-wp216",
  "date": "2026-11-29",
  "rules": [
   {
    "rule": "attack-bars",
    "attacks": [
     "singling-out",
     "linkability",
     "inference"
    ]
   }
  ]
 },
 "83feebd3f14c5275cbca3729334a99dbf45c264a51a849c82a5d41cd9d5ad4e8": {
  "name": "health-canada-prci",
  "date": "2026-11-29",
  "rules": [
   {
    "rule": "forms",
    "allowed": [
     "generalized",
     "suppressed"
    ]
   },
   {
    "rule": "highest-risk",
    "at-most": "0.09"
   },
   {
    "rule": "register-risk",
    "at-most": "0.09"
   },
   {
    "rule": "versions",
    "allowed": [
     "disjoint",
     "composed"
    ]
   }
  ]
 },
 "e23203374476e68833531888187f218a48357fc3f94bcae591b841e9a3cda274": {
  "name": "hipaa-safe-harbor",
  "date": "2026-11-29",
  "rules": [
   {
    "rule": "columns",
    "kinds": {
     "A": {
      "shown": "withheld",
      "meaning": "names"
     },
     "B": {
      "shown": "withheld",
      "meaning": "areas smaller than a state other than ZIP codes of three digits"
     },
     "B-state": {
      "shown": "any",
      "meaning": "a state or a larger area"
     },
     "B-zip3": {
      "shown": "areas",
      "meaning": "the first three digits of a ZIP code",
      "digits": 3,
      "small": [
       "036",
       "059",
       "063",
       "102",
       "203",
       "556",
       "692",
       "790",
       "821",
       "823",
       "830",
       "831",
       "878",
       "879",
       "884",
       "890",
       "893"
      ]
     },
     "C": {
      "shown": "years",
      "meaning": "dates of a person other than the date of birth"
     },
     "C-birth": {
      "shown": "births",
      "meaning": "dates of birth",
      "at-most": 89
     },
     "C-age": {
      "shown": "ages",
      "meaning": "ages",
      "at-most": 89
     },
     "D": {
      "shown": "withheld",
      "meaning": "telephone numbers"
     },
     "E": {
      "shown": "withheld",
      "meaning": "fax numbers"
     },
     "F": {
      "shown": "withheld",
      "meaning": "e-mail addresses"
     },
     "G": {
      "shown": "withheld",
      "meaning": "social security numbers"
     },
     "H": {
      "shown": "withheld",
      "meaning": "medical record numbers"
     },
     "I": {
      "shown": "withheld",
      "meaning": "health plan beneficiary numbers"
     },
     "J": {
      "shown": "withheld",
      "meaning": "account numbers"
     },
     "K": {
      "shown": "withheld",
      "meaning": "certificate and license numbers"
     },
     "L": {
      "shown": "withheld",
      "meaning": "vehicle identifiers and license plates"
     },
     "M": {
      "shown": "withheld",
      "meaning": "device identifiers and serial numbers"
     },
     "N": {
      "shown": "withheld",
      "meaning": "web addresses"
     },
     "O": {
      "shown": "withheld",
      "meaning": "IP addresses"
     },
     "P": {
      "shown": "withheld",
      "meaning": "biometric identifiers"
     },
     "Q": {
      "shown": "withheld",
      "meaning": "full-face photographs and comparable images"
     },
     "R": {
      "shown": "withheld",
      "meaning": "other unique numbers or characteristics or codes"
     },
     "other": {
      "shown": "any",
      "meaning": "columns of no category"
     }
    }
   }
  ]
 },
 "0b96db161404cfdacc3563b0c65625dc596bcd7ec54e8c0fdd5d18c3a69695bc": {
  "name": "statistical-office",
  "date": "2026-11-29",
  "rules": [
   {
    "rule": "forms",
    "allowed": [
     "generalized",
     "suppressed"
    ]
   },
   {
    "rule": "group-size",
    "at-least": 3
   },
   {
    "rule": "versions",
    "allowed": [
     "disjoint",
     "composed"
    ]
   }
  ]
 },
 "a60c81c4a191979212b2d97109de48dbc143a6863dd57fdd277b2ba4ddd3febf": {
  "name": "tre-10",
  "date": "2026-11-29",
  "rules": [
   {
    "rule": "forms",
    "allowed": [
     "generalized",
     "suppressed"
    ]
   },
   {
    "rule": "group-size",
    "at-least": 10
   },
   {
    "rule": "versions",
    "allowed": [
     "disjoint",
     "composed"
    ]
   }
  ]
 }
}
