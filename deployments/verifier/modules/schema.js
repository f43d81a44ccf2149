/** The JSON Schema of the specification, as a module: the same value as in datapackage.schema.json. */
export default {
 "$schema": "https://json-schema.org/draft/2020-12/schema",
 "title": "datapackage.json of a Sfumato release, specification 1.7",
 "type": "object",
 "properties": {
  "$schema": {
   "const": "https://datapackage.org/profiles/2.0/datapackage.json"
  },
  "name": {
   "maxLength": 63,
   "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$",
   "type": "string"
  },
  "title": {
   "maxLength": 200,
   "minLength": 1,
   "pattern": "^[^\\x00-\\x1f\\x7f]+$",
   "type": "string"
  },
  "description": {
   "type": "string",
   "minLength": 1,
   "maxLength": 4000
  },
  "licenses": {
   "type": "array",
   "minItems": 1,
   "maxItems": 1,
   "items": {
    "type": "object",
    "properties": {
     "name": {
      "type": "string"
     },
     "path": {
      "type": "string"
     }
    },
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": false
   }
  },
  "contributors": {
   "type": "array",
   "minItems": 1,
   "maxItems": 2,
   "items": {
    "type": "object",
    "properties": {
     "title": {
      "type": "string"
     },
     "email": {
      "type": "string"
     },
     "path": {
      "type": "string"
     },
     "roles": {
      "enum": [
       [
        "publisher"
       ],
       [
        "contact"
       ]
      ]
     }
    },
    "required": [
     "title",
     "roles"
    ],
    "additionalProperties": false
   }
  },
  "resources": {
   "type": "array",
   "minItems": 1,
   "items": {
    "type": "object",
    "properties": {
     "name": {
      "type": "string",
      "minLength": 1
     },
     "path": {
      "type": "string",
      "pattern": "^(?!/)(?!.*(^|/)\\.\\.?(/|$)).+$"
     },
     "format": {
      "enum": [
       "csv",
       "html",
       "json",
       "parquet",
       "sql"
      ]
     },
     "mediatype": {
      "type": "string"
     },
     "bytes": {
      "type": "integer",
      "minimum": 0
     },
     "hash": {
      "type": "string",
      "pattern": "^sha256:[0-9a-f]{64}$"
     },
     "encoding": {
      "const": "utf-8"
     },
     "type": {
      "const": "table"
     },
     "dialect": {
      "const": {
       "header": false
      }
     },
     "schema": {
      "type": "object"
     }
    },
    "required": [
     "name",
     "path",
     "format",
     "mediatype",
     "bytes",
     "hash"
    ],
    "additionalProperties": false
   }
  },
  "sfumato": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "name": {
     "maxLength": 63,
     "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$",
     "type": "string"
    },
    "title": {
     "maxLength": 200,
     "minLength": 1,
     "pattern": "^[^\\x00-\\x1f\\x7f]+$",
     "type": "string"
    },
    "unit": {
     "description": "whom a row is about",
     "enum": [
      "row",
      "identifier"
     ],
     "type": "string"
    },
    "rows_per_unit": {
     "description": "true if promises are kept also over people who have several rows",
     "enum": [
      "one",
      "several"
     ],
     "type": "string",
     "x-since-format": 6,
     "not": {
      "const": "one"
     }
    },
    "households": {
     "description": "true if promises are kept also over households",
     "type": "boolean",
     "x-since-format": 6,
     "not": {
      "const": false
     }
    },
    "versions": {
     "anyOf": [
      {
       "enum": [
        "disjoint",
        "accepted-risk"
       ],
       "type": "string"
      },
      {
       "$ref": "#/$defs/ComposedVersions"
      }
     ]
    },
    "columns": {
     "type": "array",
     "minItems": 1,
     "items": {
      "$ref": "#/$defs/Column"
     }
    },
    "strata": {
     "items": {
      "oneOf": [
       {
        "type": "string"
       },
       {
        "$ref": "#/$defs/Bands"
       },
       {
        "$ref": "#/$defs/HierarchyLevel"
       }
      ]
     },
     "type": "array"
    },
    "promises": {
     "items": {
      "oneOf": [
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "sensitive": {
          "type": "string",
          "description": "the protected column; not needed if there is only one"
         },
         "model": {
          "const": "k-anonymity",
          "type": "string"
         },
         "k": {
          "description": "smallest number of rows in a group",
          "minimum": 1,
          "type": "integer"
         },
         "members": {
          "const": "linkable",
          "type": "string",
          "description": "k households have the same quasi-identifiers in all of their members; protects from those who know which rows are one household (household)",
          "x-since-format": 7
         }
        },
        "required": [
         "model",
         "k",
         "quasi-identifiers"
        ]
       },
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "weight": {
          "type": "string",
          "description": "column of weights; not needed if there is only one"
         },
         "model": {
          "const": "k-map",
          "type": "string"
         },
         "k": {
          "description": "smallest sum of the weights of a group",
          "minimum": 1,
          "type": "integer"
         }
        },
        "required": [
         "model",
         "k",
         "quasi-identifiers"
        ]
       },
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "sensitive": {
          "type": "string",
          "description": "the protected column; not needed if there is only one"
         },
         "model": {
          "const": "km-anonymity",
          "type": "string"
         },
         "k": {
          "description": "smallest number of rows of a combination",
          "minimum": 1,
          "type": "integer"
         },
         "m": {
          "description": "quasi-identifiers that anyone knows, at most",
          "minimum": 1,
          "type": "integer"
         }
        },
        "required": [
         "model",
         "k",
         "m",
         "quasi-identifiers"
        ]
       },
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "sensitive": {
          "type": "string",
          "description": "the protected column; not needed if there is only one"
         },
         "model": {
          "const": "lkc-privacy",
          "type": "string"
         },
         "l": {
          "description": "quasi-identifiers that anyone knows, at most",
          "minimum": 1,
          "type": "integer"
         },
         "k": {
          "description": "smallest number of rows of a combination",
          "minimum": 1,
          "type": "integer"
         },
         "c": {
          "$ref": "#/$defs/ExactNumber",
          "x-above": 0,
          "x-at-most": 1,
          "description": "largest share of one value in a combination"
         },
         "values": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "values that c applies to (all if left out)"
         }
        },
        "required": [
         "model",
         "l",
         "k",
         "c",
         "quasi-identifiers"
        ]
       },
       {
        "oneOf": [
         {
          "additionalProperties": false,
          "type": "object",
          "properties": {
           "quasi-identifiers": {
            "items": {
             "type": "string"
            },
            "minItems": 1,
            "type": "array",
            "description": "columns by which rows are grouped (all if left out)"
           },
           "sensitive": {
            "type": "string",
            "description": "the protected column; not needed if there is only one"
           },
           "model": {
            "const": "l-diversity",
            "type": "string"
           },
           "known": {
            "items": {
             "type": "string"
            },
            "minItems": 1,
            "type": "array",
            "description": "other sensitive columns that an attacker may know"
           },
           "variant": {
            "const": "distinct",
            "type": "string"
           },
           "l": {
            "description": "smallest number of different values in a group",
            "minimum": 1,
            "type": "integer"
           }
          },
          "required": [
           "model",
           "variant",
           "l",
           "quasi-identifiers"
          ]
         },
         {
          "additionalProperties": false,
          "type": "object",
          "properties": {
           "quasi-identifiers": {
            "items": {
             "type": "string"
            },
            "minItems": 1,
            "type": "array",
            "description": "columns by which rows are grouped (all if left out)"
           },
           "sensitive": {
            "type": "string",
            "description": "the protected column; not needed if there is only one"
           },
           "model": {
            "const": "l-diversity",
            "type": "string"
           },
           "known": {
            "items": {
             "type": "string"
            },
            "minItems": 1,
            "type": "array",
            "description": "other sensitive columns that an attacker may know"
           },
           "variant": {
            "const": "entropy",
            "type": "string"
           },
           "l": {
            "$ref": "#/$defs/ExactNumber",
            "x-at-least": 1,
            "description": "a group's entropy is that of l equally frequent values or more"
           },
           "dont-care": {
            "items": {
             "type": "string"
            },
            "minItems": 1,
            "type": "array",
            "description": "values that may be disclosed"
           }
          },
          "required": [
           "model",
           "variant",
           "l",
           "quasi-identifiers"
          ]
         },
         {
          "additionalProperties": false,
          "type": "object",
          "properties": {
           "quasi-identifiers": {
            "items": {
             "type": "string"
            },
            "minItems": 1,
            "type": "array",
            "description": "columns by which rows are grouped (all if left out)"
           },
           "sensitive": {
            "type": "string",
            "description": "the protected column; not needed if there is only one"
           },
           "model": {
            "const": "l-diversity",
            "type": "string"
           },
           "known": {
            "items": {
             "type": "string"
            },
            "minItems": 1,
            "type": "array",
            "description": "other sensitive columns that an attacker may know"
           },
           "variant": {
            "const": "recursive",
            "type": "string"
           },
           "l": {
            "description": "rank from which values count as rare (1 is the most frequent)",
            "minimum": 1,
            "type": "integer"
           },
           "c": {
            "$ref": "#/$defs/ExactNumber",
            "x-above": 0,
            "description": "the most frequent value is rarer than c times the rare ones"
           },
           "dont-care": {
            "items": {
             "type": "string"
            },
            "minItems": 1,
            "type": "array",
            "description": "values that may be disclosed"
           },
           "negative": {
            "$ref": "#/$defs/Negative"
           }
          },
          "required": [
           "model",
           "variant",
           "l",
           "c",
           "quasi-identifiers"
          ]
         }
        ]
       },
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "sensitive": {
          "type": "string",
          "description": "the protected column; not needed if there is only one"
         },
         "model": {
          "const": "t-closeness",
          "type": "string"
         },
         "t": {
          "$ref": "#/$defs/ExactNumber",
          "x-at-least": 0,
          "x-at-most": 1,
          "description": "largest distance of a group"
         },
         "distance": {
          "enum": [
           "equal",
           "ordered",
           "hierarchical"
          ],
          "type": "string"
         }
        },
        "required": [
         "model",
         "t",
         "distance",
         "quasi-identifiers"
        ]
       },
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "sensitive": {
          "type": "string",
          "description": "the protected column; not needed if there is only one"
         },
         "model": {
          "const": "delta-disclosure",
          "type": "string"
         },
         "delta": {
          "$ref": "#/$defs/ExactNumber",
          "x-above": 0,
          "description": "|ln(p/q)| stays below it, for shares p in a group and q in all"
         }
        },
        "required": [
         "model",
         "delta",
         "quasi-identifiers"
        ]
       },
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "sensitive": {
          "type": "string",
          "description": "the protected column; not needed if there is only one"
         },
         "model": {
          "const": "beta-likeness",
          "type": "string"
         },
         "beta": {
          "$ref": "#/$defs/ExactNumber",
          "x-above": 0,
          "description": "largest relative gain of a value's share (1 is twice as frequent)"
         },
         "variant": {
          "description": "enhanced also bounds the gain by -ln p, p being the share in all rows",
          "enum": [
           "enhanced",
           "basic"
          ],
          "type": "string"
         }
        },
        "required": [
         "model",
         "beta",
         "variant",
         "quasi-identifiers"
        ]
       },
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "sensitive": {
          "type": "string",
          "description": "the protected column; not needed if there is only one"
         },
         "model": {
          "const": "alpha-k",
          "type": "string"
         },
         "alpha": {
          "$ref": "#/$defs/ExactNumber",
          "x-above": 0,
          "x-at-most": 1,
          "description": "largest share of one value in a group"
         },
         "k": {
          "description": "smallest number of rows in a group",
          "minimum": 1,
          "type": "integer"
         },
         "values": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "values that alpha applies to (all if left out)"
         }
        },
        "required": [
         "model",
         "alpha",
         "k",
         "quasi-identifiers"
        ]
       },
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "sensitive": {
          "type": "string",
          "description": "the protected column; not needed if there is only one"
         },
         "model": {
          "const": "ke-anonymity",
          "type": "string"
         },
         "k": {
          "description": "smallest number of different values in a group",
          "minimum": 1,
          "type": "integer"
         },
         "e": {
          "$ref": "#/$defs/ExactNumber",
          "x-at-least": 0,
          "description": "smallest range of a group's values; days for dates"
         }
        },
        "required": [
         "model",
         "k",
         "e",
         "quasi-identifiers"
        ]
       },
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "sensitive": {
          "type": "string",
          "description": "the protected column; not needed if there is only one"
         },
         "model": {
          "const": "alpha-beta",
          "type": "string"
         },
         "alpha": {
          "$ref": "#/$defs/ExactNumber",
          "x-above": 0,
          "x-at-most": 1,
          "description": "largest probability that any combination of quasi-identifiers is there"
         },
         "beta": {
          "$ref": "#/$defs/ExactNumber",
          "x-above": 0,
          "x-at-most": 1,
          "description": "largest share of one value in a group"
         },
         "presence": {
          "enum": [
           "combined",
           "per-group"
          ],
          "type": "string"
         }
        },
        "required": [
         "model",
         "alpha",
         "beta",
         "presence",
         "quasi-identifiers"
        ]
       },
       {
        "$ref": "#/$defs/PPrivacy"
       },
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "sensitive": {
          "type": "string",
          "description": "the protected column; not needed if there is only one"
         },
         "model": {
          "const": "delta-presence",
          "type": "string"
         },
         "min": {
          "$ref": "#/$defs/ExactNumber",
          "x-at-least": 0,
          "x-at-most": 1,
          "description": "smallest probability that a person is in the table"
         },
         "max": {
          "$ref": "#/$defs/ExactNumber",
          "x-at-least": 0,
          "x-at-most": 1,
          "description": "largest probability that a person is in the table"
         },
         "reference": {
          "type": "string",
          "pattern": "^hmac-sha256:[0-9a-f]{64}$"
         }
        },
        "required": [
         "model",
         "min",
         "max",
         "reference",
         "quasi-identifiers"
        ]
       },
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "sensitive": {
          "type": "string",
          "description": "the protected column; not needed if there is only one"
         },
         "model": {
          "const": "bayes-optimal",
          "type": "string"
         },
         "rho1": {
          "$ref": "#/$defs/ExactNumber",
          "x-above": 0,
          "x-below": 1,
          "description": "values that were less probable before count as unlikely"
         },
         "rho2": {
          "$ref": "#/$defs/ExactNumber",
          "x-above": 0,
          "x-below": 1,
          "description": "largest probability that an unlikely value may get"
         },
         "reference": {
          "type": "string",
          "pattern": "^hmac-sha256:[0-9a-f]{64}$"
         },
         "smoothing": {
          "$ref": "#/$defs/ExactNumber",
          "x-at-least": 0,
          "description": "number added to each count of the population (Laplace's smoothing)"
         }
        },
        "required": [
         "model",
         "rho1",
         "rho2",
         "reference",
         "smoothing",
         "quasi-identifiers"
        ]
       },
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "sensitive": {
          "type": "string",
          "description": "the protected column; not needed if there is only one"
         },
         "model": {
          "const": "people",
          "type": "string"
         },
         "k": {
          "description": "smallest number of people in a group",
          "minimum": 1,
          "type": "integer"
         },
         "numbers": {
          "description": "whether an adversary knows how many related rows each person has",
          "enum": [
           "hidden",
           "known"
          ],
          "type": "string"
         }
        },
        "required": [
         "model",
         "k",
         "numbers",
         "quasi-identifiers"
        ]
       },
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "sensitive": {
          "type": "string",
          "description": "the protected column; not needed if there is only one"
         },
         "model": {
          "const": "related-l-diversity",
          "type": "string"
         },
         "l": {
          "description": "smallest number of values that a person may have",
          "minimum": 1,
          "type": "integer"
         },
         "numbers": {
          "description": "whether an adversary knows how many related rows each person has",
          "enum": [
           "hidden",
           "known"
          ],
          "type": "string"
         },
         "insiders": {
          "description": "1 also protects from people of the group who know their own rows",
          "enum": [
           0,
           1
          ],
          "type": "integer"
         },
         "facts": {
          "description": "facts of people published beside their rows, set by Sfumato. They may show who has rows (presence), numbers of rows, or anything (any)",
          "enum": [
           "none",
           "presence",
           "numbers",
           "any"
          ],
          "type": "string",
          "x-since-format": 16,
          "not": {
           "const": "none"
          }
         }
        },
        "required": [
         "model",
         "l",
         "numbers",
         "insiders",
         "quasi-identifiers"
        ]
       },
       {
        "additionalProperties": false,
        "type": "object",
        "properties": {
         "quasi-identifiers": {
          "items": {
           "type": "string"
          },
          "minItems": 1,
          "type": "array",
          "description": "columns by which rows are grouped (all if left out)"
         },
         "sensitive": {
          "type": "string",
          "description": "the protected column; not needed if there is only one"
         },
         "model": {
          "const": "related-alpha",
          "type": "string"
         },
         "alpha": {
          "$ref": "#/$defs/ExactNumber",
          "x-above": 0,
          "x-at-most": 1,
          "description": "largest share of people with one value"
         }
        },
        "required": [
         "model",
         "alpha",
         "quasi-identifiers"
        ]
       }
      ]
     },
     "type": "array",
     "minItems": 1
    },
    "partition": {
     "oneOf": [
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "full-domain",
         "type": "string"
        },
        "metric": {
         "description": "measure of loss to minimise",
         "enum": [
          "height",
          "precision",
          "discernibility",
          "average-class-size",
          "entropy",
          "ncp",
          "kl"
         ],
         "type": "string"
        },
        "suppression": {
         "$ref": "#/$defs/ExactNumber",
         "x-at-least": 0,
         "x-below": 1,
         "description": "largest share of rows that may be suppressed"
        },
        "suppressed": {
         "description": "leave suppressed rows out, or show them without quasi-identifiers",
         "enum": [
          "drop",
          "star"
         ],
         "type": "string"
        }
       },
       "required": [
        "method",
        "metric",
        "suppression",
        "suppressed"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "mondrian",
         "type": "string"
        },
        "mode": {
         "description": "relaxed cuts may separate rows with equal values; strict ones do not",
         "enum": [
          "strict",
          "relaxed"
         ],
         "type": "string"
        },
        "leave": {
         "$ref": "#/$defs/ExactNumber",
         "x-at-least": 0,
         "x-below": 1,
         "description": "probability of leaving a part uncut that could be cut, so that uncut parts reveal less",
         "x-since-format": 6,
         "not": {
          "const": 0
         }
        }
       },
       "required": [
        "method",
        "mode"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "top-down",
         "type": "string"
        }
       },
       "required": [
        "method"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "local-suppression",
         "type": "string"
        },
        "suppression": {
         "$ref": "#/$defs/ExactNumber",
         "x-at-least": 0,
         "x-below": 1,
         "description": "largest share of rows that may be suppressed"
        }
       },
       "required": [
        "method",
        "suppression"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "forest",
         "type": "string"
        }
       },
       "required": [
        "method"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "factors",
         "type": "string"
        }
       },
       "required": [
        "method"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "ke",
         "type": "string"
        },
        "objective": {
         "description": "minimise the sum of the groups' ranges (weighted by rows), or the largest range (of groups that may overlap); random minimises nothing",
         "enum": [
          "sum",
          "weighted",
          "max",
          "max-overlapping",
          "random"
         ],
         "type": "string"
        }
       },
       "required": [
        "method",
        "objective"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "hybrid",
         "type": "string"
        },
        "aims": {
         "description": "families of queries that should get narrow bounds",
         "items": {
          "oneOf": [
           {
            "$ref": "#/$defs/RangeAim"
           },
           {
            "$ref": "#/$defs/CountsAim"
           },
           {
            "$ref": "#/$defs/GroupByAim"
           },
           {
            "$ref": "#/$defs/ArbitraryAim"
           }
          ]
         },
         "minItems": 1,
         "type": "array"
        }
       },
       "required": [
        "method",
        "aims"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "contiguous",
         "type": "string"
        },
        "aims": {
         "description": "families of queries that should get narrow bounds",
         "items": {
          "oneOf": [
           {
            "$ref": "#/$defs/RangeAim"
           },
           {
            "$ref": "#/$defs/CountsAim"
           },
           {
            "$ref": "#/$defs/GroupByAim"
           },
           {
            "$ref": "#/$defs/ArbitraryAim"
           }
          ]
         },
         "minItems": 1,
         "type": "array"
        }
       },
       "required": [
        "method",
        "aims"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "anatomy",
         "type": "string"
        },
        "draw": {
         "description": "draw groups as the paper does, or deal values out, which gives few sets of values",
         "enum": [
          "random",
          "round-robin"
         ],
         "type": "string",
         "x-since-format": 2,
         "not": {
          "const": "random"
         }
        },
        "alike": {
         "$ref": "#/$defs/AlikeValues",
         "description": "group values that quasi-identifiers hardly distinguish, by counts with noise",
         "x-since-format": 6
        }
       },
       "required": [
        "method"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "ambiguity",
         "type": "string"
        },
        "probes": {
         "description": "rows that are compared for each row that a group takes",
         "minimum": 1,
         "type": "integer"
        },
        "calibrate": {
         "description": "grow groups until all of them together keep alpha, not only each one",
         "type": "boolean"
        },
        "residue": {
         "description": "leave rows that fit in no group out, or stop with an error",
         "enum": [
          "suppress",
          "refuse"
         ],
         "type": "string"
        }
       },
       "required": [
        "method",
        "probes",
        "calibrate",
        "residue"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "disjoint-cover",
         "type": "string"
        },
        "residue": {
         "description": "leave rows of values too frequent for beta out, or stop with an error",
         "enum": [
          "suppress",
          "refuse"
         ],
         "type": "string"
        }
       },
       "required": [
        "method",
        "residue"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "stratum",
         "type": "string"
        }
       },
       "required": [
        "method"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "exact-qi",
         "type": "string"
        }
       },
       "required": [
        "method"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "groups",
         "type": "string"
        },
        "line": {
         "description": "name of the line that has the groups",
         "type": "string"
        }
       },
       "required": [
        "method",
        "line"
       ]
      }
     ]
    },
    "form": {
     "oneOf": [
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "generalized",
         "type": "string"
        },
        "protects": {
         "description": "sensitive values, or who people are in a table without sensitive values",
         "enum": [
          "values",
          "identities"
         ],
         "type": "string",
         "x-since-format": 6,
         "not": {
          "const": "values"
         }
        },
        "label-tables": {
         "description": "also publish tables of what each label admits",
         "type": "boolean",
         "x-since-format": 6,
         "not": {
          "const": false
         }
        },
        "single-values": {
         "description": "braces and quotes around single texts without a hierarchy; quoted adds them to texts with special characters, plain only to texts that read like a label",
         "enum": [
          "quoted",
          "plain"
         ],
         "type": "string",
         "x-since-format": 6,
         "not": {
          "const": "quoted"
         }
        }
       },
       "required": [
        "method"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "suppressed",
         "type": "string"
        },
        "protects": {
         "description": "sensitive values, or who people are in a table without sensitive values",
         "enum": [
          "values",
          "identities"
         ],
         "type": "string",
         "x-since-format": 6,
         "not": {
          "const": "values"
         }
        },
        "label-tables": {
         "description": "also publish tables of what each label admits",
         "type": "boolean",
         "x-since-format": 6,
         "not": {
          "const": false
         }
        },
        "linked": {
         "description": "quasi-identifiers that are suppressed together",
         "items": {
          "items": {
           "type": "string"
          },
          "minItems": 2,
          "type": "array"
         },
         "type": "array"
        }
       },
       "required": [
        "method",
        "linked"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "permuted",
         "type": "string"
        },
        "sensitive": {
         "description": "together keeps a person's sensitive values in one row",
         "enum": [
          "independent",
          "together"
         ],
         "type": "string"
        }
       },
       "required": [
        "method",
        "sensitive"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "split",
         "type": "string"
        },
        "sensitive": {
         "description": "together keeps a person's sensitive values in one row",
         "enum": [
          "independent",
          "together"
         ],
         "type": "string"
        }
       },
       "required": [
        "method",
        "sensitive"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "ambiguous",
         "type": "string"
        },
        "sensitive": {
         "description": "together keeps a person's sensitive values in one row",
         "enum": [
          "independent",
          "together"
         ],
         "type": "string"
        },
        "marginals": {
         "description": "quasi-identifiers of which the rows with each value are also counted over all groups",
         "items": {
          "type": "string"
         },
         "type": "array",
         "x-since-format": 14,
         "not": {
          "const": []
         }
        }
       },
       "required": [
        "method",
        "sensitive"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "redistributed",
         "type": "string"
        },
        "tree": {
         "description": "subdomains are parts with equally many values, parts that are about equally likely, or the nodes of the column's hierarchy",
         "enum": [
          "balanced",
          "median",
          "hierarchy"
         ],
         "type": "string"
        },
        "arity": {
         "description": "number of parts of a subdomain, without a hierarchy",
         "minimum": 2,
         "type": "integer"
        },
        "denominator": {
         "anyOf": [
          {
           "minimum": 1,
           "type": "integer"
          },
          {
           "const": "exact",
           "type": "string"
          }
         ],
         "description": "largest sum of the weights of a subdomain's parts; exact has no limit"
        },
        "fakes": {
         "$ref": "#/$defs/ExactNumber",
         "x-at-least": 0,
         "description": "most fake values in a group, as a number or a share of its rows"
        },
        "fakes-by": {
         "description": "what the number of fakes makes least in a group: the sum of ranges, or the width of the bounds of its mean",
         "enum": [
          "ranges",
          "width"
         ],
         "type": "string",
         "x-since-format": 13,
         "not": {
          "const": "ranges"
         }
        },
        "rows": {
         "minimum": 1,
         "type": "integer",
         "description": "fewest rows of a group, with a partition other than stratum and exact-qi",
         "x-since-format": 6
        }
       },
       "required": [
        "method",
        "tree",
        "arity",
        "denominator",
        "fakes"
       ]
      },
      {
       "additionalProperties": false,
       "type": "object",
       "properties": {
        "method": {
         "const": "apart",
         "type": "string"
        },
        "people": {
         "description": "the name of a table",
         "maxLength": 63,
         "pattern": "^[a-z][a-z0-9_]*$",
         "type": "string"
        },
        "related": {
         "description": "the name of a table",
         "maxLength": 63,
         "pattern": "^[a-z][a-z0-9_]*$",
         "type": "string"
        },
        "key": {
         "description": "the column by which both tables name people",
         "minLength": 1,
         "type": "string"
        },
        "columns": {
         "description": "the columns of the related table",
         "items": {
          "type": "string"
         },
         "minItems": 1,
         "type": "array"
        },
        "cap": {
         "minimum": 1,
         "type": "integer",
         "description": "the most related rows of a person; people with more were left out",
         "x-since-format": 15
        },
        "sensitive": {
         "description": "together: the facts of one person are in one row",
         "enum": [
          "independent",
          "together"
         ],
         "type": "string",
         "x-since-format": 16,
         "not": {
          "const": "independent"
         }
        }
       },
       "required": [
        "method",
        "people",
        "related",
        "key",
        "columns"
       ]
      }
     ]
    },
    "formats": {
     "items": {
      "enum": [
       "parquet",
       "csv"
      ],
      "type": "string"
     },
     "type": "array",
     "uniqueItems": true,
     "contains": {
      "const": "parquet"
     }
    },
    "csv": {
     "$ref": "#/$defs/CsvFiles",
     "description": "how tables are written as CSV files",
     "x-since-format": 1,
     "not": {
      "const": {}
     }
    },
    "parts": {
     "$ref": "#/$defs/PartsOfTable",
     "description": "how the table was cut into parts, if it was",
     "x-since-format": 3
    },
    "policy": {
     "additionalProperties": false,
     "type": "object",
     "x-since-format": 12,
     "properties": {
      "name": {
       "maxLength": 63,
       "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$",
       "type": "string"
      },
      "date": {
       "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
       "type": "string"
      },
      "sha256": {
       "pattern": "^[0-9a-f]{64}$",
       "type": "string"
      },
      "rules": {
       "items": {
        "oneOf": [
         {
          "additionalProperties": false,
          "type": "object",
          "properties": {
           "rule": {
            "const": "highest-risk",
            "type": "string"
           },
           "at-most": {
            "$ref": "#/$defs/ExactNumber",
            "x-above": 0,
            "x-at-most": 1,
            "description": "the highest risk of a person, 1/k"
           }
          },
          "required": [
           "rule",
           "at-most"
          ]
         },
         {
          "additionalProperties": false,
          "type": "object",
          "properties": {
           "rule": {
            "const": "group-size",
            "type": "string"
           },
           "at-least": {
            "description": "the number of people who look alike, at least",
            "maximum": 1000000,
            "minimum": 2,
            "type": "integer"
           }
          },
          "required": [
           "rule",
           "at-least"
          ]
         },
         {
          "additionalProperties": false,
          "type": "object",
          "properties": {
           "rule": {
            "const": "register-risk",
            "type": "string"
           },
           "at-most": {
            "$ref": "#/$defs/ExactNumber",
            "x-above": 0,
            "x-at-most": 1,
            "description": "the highest risk of a person of the register"
           }
          },
          "required": [
           "rule",
           "at-most"
          ]
         },
         {
          "additionalProperties": false,
          "type": "object",
          "properties": {
           "rule": {
            "const": "attack-bars",
            "type": "string"
           },
           "attacks": {
            "description": "attacks that need a limit, by name",
            "items": {
             "type": "string"
            },
            "minItems": 1,
            "type": "array"
           }
          },
          "required": [
           "rule",
           "attacks"
          ]
         },
         {
          "additionalProperties": false,
          "type": "object",
          "properties": {
           "rule": {
            "const": "forms",
            "type": "string"
           },
           "allowed": {
            "description": "the forms that may be published",
            "items": {
             "enum": [
              "generalized",
              "suppressed",
              "permuted",
              "split",
              "ambiguous",
              "redistributed",
              "apart"
             ],
             "type": "string"
            },
            "minItems": 1,
            "type": "array"
           }
          },
          "required": [
           "rule",
           "allowed"
          ]
         },
         {
          "additionalProperties": false,
          "type": "object",
          "properties": {
           "rule": {
            "const": "versions",
            "type": "string"
           },
           "allowed": {
            "description": "the rules of versions",
            "items": {
             "enum": [
              "disjoint",
              "accepted-risk",
              "composed"
             ],
             "type": "string"
            },
            "minItems": 1,
            "type": "array"
           }
          },
          "required": [
           "rule",
           "allowed"
          ]
         },
         {
          "additionalProperties": false,
          "type": "object",
          "properties": {
           "rule": {
            "const": "columns",
            "type": "string"
           },
           "kinds": {
            "description": "the kinds of columns, and what each may show",
            "minProperties": 1,
            "patternProperties": {
             "^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$": {
              "oneOf": [
               {
                "additionalProperties": false,
                "type": "object",
                "properties": {
                 "shown": {
                  "const": "withheld",
                  "type": "string"
                 },
                 "meaning": {
                  "description": "what such a column contains, for people",
                  "maxLength": 300,
                  "minLength": 1,
                  "pattern": "^[^\\x00-\\x1f\\x7f]+$",
                  "type": "string"
                 }
                },
                "required": [
                 "shown",
                 "meaning"
                ]
               },
               {
                "additionalProperties": false,
                "type": "object",
                "properties": {
                 "shown": {
                  "const": "any",
                  "type": "string"
                 },
                 "meaning": {
                  "description": "what such a column contains, for people",
                  "maxLength": 300,
                  "minLength": 1,
                  "pattern": "^[^\\x00-\\x1f\\x7f]+$",
                  "type": "string"
                 }
                },
                "required": [
                 "shown",
                 "meaning"
                ]
               },
               {
                "additionalProperties": false,
                "type": "object",
                "properties": {
                 "shown": {
                  "const": "years",
                  "type": "string"
                 },
                 "meaning": {
                  "description": "what such a column contains, for people",
                  "maxLength": 300,
                  "minLength": 1,
                  "pattern": "^[^\\x00-\\x1f\\x7f]+$",
                  "type": "string"
                 }
                },
                "required": [
                 "shown",
                 "meaning"
                ]
               },
               {
                "additionalProperties": false,
                "type": "object",
                "properties": {
                 "shown": {
                  "const": "births",
                  "type": "string"
                 },
                 "meaning": {
                  "description": "what such a column contains, for people",
                  "maxLength": 300,
                  "minLength": 1,
                  "pattern": "^[^\\x00-\\x1f\\x7f]+$",
                  "type": "string"
                 },
                 "at-most": {
                  "description": "the highest age that may be seen",
                  "maximum": 150,
                  "minimum": 1,
                  "type": "integer"
                 }
                },
                "required": [
                 "shown",
                 "meaning",
                 "at-most"
                ]
               },
               {
                "additionalProperties": false,
                "type": "object",
                "properties": {
                 "shown": {
                  "const": "ages",
                  "type": "string"
                 },
                 "meaning": {
                  "description": "what such a column contains, for people",
                  "maxLength": 300,
                  "minLength": 1,
                  "pattern": "^[^\\x00-\\x1f\\x7f]+$",
                  "type": "string"
                 },
                 "at-most": {
                  "description": "the highest age that may be seen",
                  "maximum": 150,
                  "minimum": 1,
                  "type": "integer"
                 }
                },
                "required": [
                 "shown",
                 "meaning",
                 "at-most"
                ]
               },
               {
                "additionalProperties": false,
                "type": "object",
                "properties": {
                 "shown": {
                  "const": "areas",
                  "type": "string"
                 },
                 "meaning": {
                  "description": "what such a column contains, for people",
                  "maxLength": 300,
                  "minLength": 1,
                  "pattern": "^[^\\x00-\\x1f\\x7f]+$",
                  "type": "string"
                 },
                 "digits": {
                  "description": "how many digits may be published",
                  "maximum": 20,
                  "minimum": 1,
                  "type": "integer"
                 },
                 "small": {
                  "description": "codes with too few people, which the source must replace",
                  "items": {
                   "pattern": "^[0-9]{1,20}$",
                   "type": "string"
                  },
                  "type": "array"
                 }
                },
                "required": [
                 "shown",
                 "meaning",
                 "digits",
                 "small"
                ]
               }
              ]
             }
            },
            "propertyNames": {
             "maxLength": 63
            },
            "type": "object"
           }
          },
          "required": [
           "rule",
           "kinds"
          ]
         }
        ]
       },
       "minItems": 1,
       "type": "array"
      },
      "columns": {
       "additionalProperties": {
        "type": "string"
       },
       "type": "object"
      },
      "year": {
       "maximum": 2199,
       "minimum": 1800,
       "type": "integer"
      }
     },
     "required": [
      "name",
      "date",
      "sha256",
      "rules",
      "columns"
     ]
    },
    "rows": {
     "$ref": "#/$defs/RowCounts"
    },
    "software": {
     "type": "object",
     "propertyNames": {
      "pattern": "^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$",
      "type": "string"
     },
     "additionalProperties": {
      "pattern": "^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$",
      "type": "string"
     }
    },
    "predecessor": {
     "pattern": "^[0-9a-f]{64}$",
     "type": "string",
     "description": "the digest of the version that a composed one continues",
     "x-since-format": 2
    },
    "exposure": {
     "$ref": "#/$defs/JointExposure",
     "description": "what the version and other versions reveal together, if that is accepted",
     "x-since-format": 2
    },
    "intervals": {
     "$ref": "#/$defs/CalibratedIntervals",
     "description": "the publisher's statement by how much intervals are widened",
     "x-since-format": 5
    },
    "bars": {
     "$ref": "#/$defs/KeptBars",
     "description": "the limits on attacks that the publisher states to be kept",
     "x-since-format": 6
    },
    "window": {
     "$ref": "#/$defs/ExactNumber",
     "description": "the width of a small range, within which guesses of numbers count",
     "x-since-format": 6
    },
    "rows_apart": {
     "type": "string",
     "description": "the stated reason why rows with the same identifier are about different people",
     "x-since-format": 6
    },
    "words": {
     "$ref": "#/$defs/PublishedWords",
     "description": "the owner's words about the line and its columns",
     "x-since-format": 6,
     "not": {
      "const": {
       "columns": {}
      }
     }
    },
    "rounds": {
     "additionalProperties": {
      "enum": [
       0,
       2
      ],
      "type": "integer"
     },
     "description": "the rounds for which the frequencies of a column's values were fitted, if not 100",
     "type": "object",
     "x-since-format": 11,
     "not": {
      "const": {}
     }
    },
    "related_rows": {
     "$ref": "#/$defs/RelatedCounts",
     "description": "the number of related rows read, and what became of them",
     "x-since-format": 15
    },
    "made_of": {
     "description": "the parts of a release in parts, in order",
     "items": {
      "$ref": "#/$defs/PublishedPart"
     },
     "type": "array",
     "x-since-format": 3,
     "not": {
      "const": []
     }
    },
    "format": {
     "type": "integer",
     "minimum": 1,
     "maximum": 16
    },
    "observed": {
     "type": "array",
     "minItems": 1,
     "items": {
      "type": "object",
      "properties": {
       "promise": {
        "type": "object"
       },
       "groups": {
        "type": "integer",
        "minimum": 1
       },
       "observed": {
        "type": "object",
        "additionalProperties": {
         "$ref": "#/$defs/Observed"
        }
       },
       "people": {
        "type": "object",
        "additionalProperties": {
         "$ref": "#/$defs/Observed"
        }
       },
       "households": {
        "type": "object",
        "additionalProperties": {
         "$ref": "#/$defs/Observed"
        }
       }
      },
      "required": [
       "promise",
       "groups",
       "observed"
      ],
      "additionalProperties": false
     }
    },
    "digest": {
     "type": "string",
     "pattern": "^[0-9a-f]{64}$"
    }
   },
   "required": [
    "name",
    "title",
    "unit",
    "versions",
    "columns",
    "strata",
    "promises",
    "partition",
    "form",
    "formats",
    "rows",
    "software",
    "observed",
    "digest"
   ]
  }
 },
 "required": [
  "$schema",
  "name",
  "title",
  "resources",
  "sfumato"
 ],
 "additionalProperties": false,
 "$defs": {
  "AlikeValues": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "epsilon": {
     "$ref": "#/$defs/ExactNumber",
     "x-above": 0,
     "x-at-most": 100,
     "description": "parameter of the noise in the counts by which values are compared"
    }
   },
   "required": [
    "epsilon"
   ]
  },
  "ArbitraryAim": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "kind": {
     "const": "arbitrary",
     "type": "string"
    },
    "selected": {
     "description": "numbers of rows that a query selects",
     "items": {
      "exclusiveMinimum": 0,
      "type": "integer"
     },
     "minItems": 1,
     "type": "array"
    }
   },
   "required": [
    "kind",
    "selected"
   ]
  },
  "Bands": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "column": {
     "type": "string"
    },
    "bands": {
     "description": "the starts of the bands, the smallest first",
     "items": {
      "$ref": "#/$defs/ExactNumber"
     },
     "minItems": 1,
     "type": "array"
    }
   },
   "required": [
    "column",
    "bands"
   ]
  },
  "CalibratedFamily": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "family": {
     "maxLength": 63,
     "pattern": "^[a-z]+(-[a-z]+)*$",
     "type": "string"
    },
    "of": {
     "description": "the sensitive column; empty where rows are counted",
     "type": "string"
    },
    "factor": {
     "type": "string"
    }
   },
   "required": [
    "family",
    "of",
    "factor"
   ]
  },
  "CalibratedIntervals": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "coverage": {
     "const": "at least 95 % asked, met",
     "type": "string"
    },
    "standing": {
     "const": "stated by the publisher, not verifiable",
     "type": "string"
    },
    "grid": {
     "description": "the possible factors: the few of format 5, or 24 in each power of ten",
     "enum": [
      "first",
      "fine"
     ],
     "type": "string",
     "x-since-format": 6,
     "not": {
      "const": "first"
     }
    },
    "families": {
     "items": {
      "$ref": "#/$defs/CalibratedFamily"
     },
     "type": "array"
    }
   },
   "required": [
    "coverage",
    "standing",
    "families"
   ]
  },
  "CodeLabels": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "codes": {
     "patternProperties": {
      "^[^\\x00-\\x1f\\x7f]+$": {
       "maxLength": 300,
       "minLength": 1,
       "pattern": "^[^\\x00-\\x1f\\x7f]+$",
       "type": "string"
      }
     },
     "propertyNames": {
      "maxLength": 60,
      "minLength": 1
     },
     "type": "object"
    },
    "whole": {
     "description": "the list as declared; otherwise only the published codes",
     "type": "boolean"
    }
   },
   "required": [
    "codes",
    "whole"
   ]
  },
  "Column": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "shift": {
     "$ref": "#/$defs/DateShift",
     "description": "dates are moved by a number of days that each unit has of its own; only for forms with labels",
     "x-since-format": 4
    },
    "bottom": {
     "anyOf": [
      {
       "type": "string"
      },
      {
       "$ref": "#/$defs/TailShare"
      }
     ],
     "description": "smaller values become this, or a threshold that a share of rows reaches",
     "x-since-format": 4
    },
    "top": {
     "anyOf": [
      {
       "type": "string"
      },
      {
       "$ref": "#/$defs/TailShare"
      }
     ],
     "description": "larger values become this, or a threshold that a share of rows reaches",
     "x-since-format": 4
    },
    "round": {
     "$ref": "#/$defs/Rounding",
     "description": "exact numbers become multiples",
     "x-since-format": 4
    },
    "unite": {
     "const": "spellings",
     "type": "string",
     "description": "texts that differ only in spaces, case or Unicode form become one text, in lower case",
     "x-since-format": 10
    },
    "prefix": {
     "maximum": 1000,
     "minimum": 1,
     "type": "integer",
     "description": "how many characters of a text are kept",
     "x-since-format": 4
    },
    "fold": {
     "$ref": "#/$defs/RareFold",
     "description": "values that few rows have become one",
     "x-since-format": 4
    },
    "free_text": {
     "minLength": 1,
     "type": "string",
     "description": "why a column of free text may be published",
     "x-since-format": 4
    },
    "role": {
     "enum": [
      "quasi-identifier",
      "sensitive",
      "insensitive"
     ],
     "type": "string"
    },
    "type": {
     "enum": [
      "integer",
      "decimal",
      "float",
      "date",
      "timestamp",
      "string",
      "boolean"
     ],
     "type": "string"
    },
    "scale": {
     "maximum": 38,
     "minimum": 0,
     "type": "integer",
     "description": "the number of decimals of a decimal column"
    },
    "nulls": {
     "description": "whether null is published as a category",
     "type": "boolean"
    },
    "unprotected": {
     "type": "string",
     "description": "why no promise is about it"
    },
    "hierarchy": {
     "anyOf": [
      {
       "items": {
        "items": {
         "type": "string"
        },
        "type": "array"
       },
       "type": "array"
      },
      {
       "$ref": "#/$defs/Intervals"
      },
      {
       "$ref": "#/$defs/Dates"
      },
      {
       "$ref": "#/$defs/Prefixes"
      }
     ]
    },
    "leaves": {
     "description": "the leaves of the hierarchy: all, or those under a published label",
     "enum": [
      "all",
      "published"
     ],
     "type": "string",
     "x-since-format": 5,
     "not": {
      "const": "all"
     }
    },
    "weight": {
     "description": "whether it is the number of people that a row represents",
     "type": "boolean",
     "x-since-format": 6,
     "not": {
      "const": false
     }
    },
    "derive": {
     "type": "string",
     "description": "the SQL over the related rows of one person that gives the person's value",
     "x-since-format": 16
    },
    "name": {
     "type": "string",
     "minLength": 1
    }
   },
   "required": [
    "role",
    "type",
    "nulls",
    "name"
   ]
  },
  "ColumnExposure": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "column": {
     "type": "string"
    },
    "asked": {
     "minimum": 2,
     "type": "integer"
    },
    "intersection": {
     "$ref": "#/$defs/FacedPeople"
    },
    "newcomers": {
     "$ref": "#/$defs/FacedPeople"
    },
    "leavers": {
     "$ref": "#/$defs/FacedPeople"
    }
   },
   "required": [
    "column",
    "asked",
    "intersection",
    "newcomers",
    "leavers"
   ]
  },
  "ComposedVersions": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "rule": {
     "const": "composed",
     "type": "string"
    },
    "vacancies": {
     "description": "who gets the places (slots) of people who left",
     "enum": [
      "keep",
      "paired",
      "refill"
     ],
     "type": "string"
    },
    "changes": {
     "description": "how to publish people after their values changed",
     "enum": [
      "withhold",
      "reinsert",
      "as-first"
     ],
     "type": "string"
    },
    "share": {
     "$ref": "#/$defs/ExactNumber",
     "description": "share of the still allowed presence that one cohort may use up"
    },
    "consolidate": {
     "description": "close groups with few people left; these people move to groups with the same values",
     "type": "boolean",
     "x-since-format": 2,
     "not": {
      "const": false
     }
    }
   },
   "required": [
    "rule",
    "vacancies",
    "changes",
    "share"
   ]
  },
  "CountsAim": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "kind": {
     "const": "counts",
     "type": "string"
    },
    "over": {
     "description": "quasi-identifier that queries restrict to a range",
     "type": "string"
    },
    "spans": {
     "description": "widths of the ranges; days for dates",
     "items": {
      "exclusiveMinimum": 0,
      "type": "integer"
     },
     "minItems": 1,
     "type": "array"
    },
    "condition": {
     "description": "condition on the sensitive value: equal to a value, or at most a value",
     "enum": [
      "equal",
      "at-most"
     ],
     "type": "string"
    }
   },
   "required": [
    "kind",
    "over",
    "spans",
    "condition"
   ]
  },
  "CsvFiles": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "formulas": {
     "description": "texts that a spreadsheet would run as formulas: unchanged, or behind a quote",
     "enum": [
      "keep",
      "quote"
     ],
     "type": "string",
     "x-since-format": 1,
     "not": {
      "const": "keep"
     }
    }
   },
   "required": []
  },
  "DateShift": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "days": {
     "description": "the largest number of days, earlier or later",
     "maximum": 36500,
     "minimum": 1,
     "type": "integer"
    }
   },
   "required": [
    "days"
   ]
  },
  "Dates": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "dates": {
     "items": {
      "enum": [
       "month",
       "quarter",
       "year",
       "decade",
       "century"
      ],
      "type": "string"
     },
     "minItems": 1,
     "type": "array"
    }
   },
   "required": [
    "dates"
   ]
  },
  "ExactNumber": {
   "description": "An exact number: an integer, or the text of a decimal without needless digits.",
   "oneOf": [
    {
     "type": "integer",
     "minimum": -9007199254740991,
     "maximum": 9007199254740991
    },
    {
     "type": "string",
     "pattern": "^-?(0|[1-9][0-9]*)\\.[0-9]*[1-9]$"
    },
    {
     "type": "string",
     "pattern": "^-?[1-9][0-9]{15,}$"
    }
   ]
  },
  "FacedPeople": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "people": {
     "minimum": 0,
     "type": "integer"
    },
    "one": {
     "minimum": 0,
     "type": "integer"
    },
    "few": {
     "minimum": 0,
     "type": "integer"
    }
   },
   "required": [
    "people",
    "one",
    "few"
   ]
  },
  "File": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "file": {
     "minLength": 1,
     "type": "string"
    }
   },
   "required": [
    "file"
   ]
  },
  "Given": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "given": {
     "items": {
      "items": {
       "type": "string"
      },
      "type": "array"
     },
     "type": "array"
    }
   },
   "required": [
    "given"
   ]
  },
  "GroupByAim": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "kind": {
     "const": "group-by",
     "type": "string"
    },
    "by": {
     "description": "quasi-identifier that queries group by",
     "type": "string"
    }
   },
   "required": [
    "kind",
    "by"
   ]
  },
  "HierarchyLevel": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "column": {
     "type": "string"
    },
    "level": {
     "description": "the number of steps above the values",
     "minimum": 1,
     "type": "integer"
    }
   },
   "required": [
    "column",
    "level"
   ]
  },
  "Intervals": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "intervals": {
     "items": {
      "exclusiveMinimum": 0,
      "type": "integer"
     },
     "minItems": 1,
     "type": "array"
    }
   },
   "required": [
    "intervals"
   ]
  },
  "JointExposure": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "versions": {
     "minimum": 1,
     "type": "integer"
    },
    "lines": {
     "minimum": 1,
     "type": "integer"
    },
    "columns": {
     "items": {
      "$ref": "#/$defs/ColumnExposure"
     },
     "type": "array"
    }
   },
   "required": [
    "versions",
    "lines",
    "columns"
   ]
  },
  "KeptBar": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "attack": {
     "maxLength": 63,
     "pattern": "^[a-z]+(-[a-z]+)*$",
     "type": "string"
    },
    "limit": {
     "enum": [
      "max-lift",
      "max-share-above",
      "max-share"
     ],
     "type": "string"
    },
    "most": {
     "maximum": 1,
     "minimum": 0,
     "type": "number"
    },
    "belief": {
     "maximum": 1,
     "minimum": 0,
     "type": "number",
     "description": "the smallest probability with which a value is believed, so that the guess counts",
     "x-since-format": 6
    },
    "known": {
     "type": "integer",
     "description": "the number of values that the attacker can rule out, or of people that the attacker knows",
     "x-since-format": 6
    },
    "width": {
     "$ref": "#/$defs/ExactNumber",
     "description": "the width of a small range, in the column's unit",
     "x-since-format": 6
    },
    "level": {
     "type": "integer",
     "description": "the level of the hierarchy at which values count as alike",
     "x-since-format": 6
    },
    "times": {
     "type": "number",
     "description": "how much likelier a value must be in a group, so that the group counts",
     "x-since-format": 6
    }
   },
   "required": [
    "attack",
    "limit",
    "most"
   ]
  },
  "KeptBars": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "standing": {
     "const": "stated by the publisher, not verifiable",
     "type": "string"
    },
    "bars": {
     "items": {
      "$ref": "#/$defs/KeptBar"
     },
     "minItems": 1,
     "type": "array"
    }
   },
   "required": [
    "standing",
    "bars"
   ]
  },
  "Nearest": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "nearest": {
     "const": "own",
     "type": "string"
    },
    "objective": {
     "description": "of the targets that keep the promises, the nearest one, or the one with the least sum of ranges",
     "enum": [
      "nearest",
      "ranges"
     ],
     "type": "string",
     "x-since-format": 13,
     "not": {
      "const": "nearest"
     }
    }
   },
   "required": [
    "nearest"
   ]
  },
  "Negative": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "values": {
     "items": {
      "type": "string"
     },
     "minItems": 1,
     "type": "array"
    },
    "percent": {
     "$ref": "#/$defs/ExactNumber",
     "x-above": 0,
     "x-at-most": 100
    }
   },
   "required": [
    "values",
    "percent"
   ]
  },
  "Normal": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "normal": {
     "$ref": "#/$defs/Parameters"
    }
   },
   "required": [
    "normal"
   ]
  },
  "Observed": {
   "description": "An exact number: an integer, or the text of a decimal or a fraction.",
   "oneOf": [
    {
     "type": "integer"
    },
    {
     "type": "string",
     "pattern": "^(-?[0-9]+([./][0-9]+)?|infinite)$"
    }
   ]
  },
  "PPrivacy": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "quasi-identifiers": {
     "items": {
      "type": "string"
     },
     "minItems": 1,
     "type": "array",
     "description": "columns by which rows are grouped (all if left out)"
    },
    "sensitive": {
     "type": "string",
     "description": "the protected column; not needed if there is only one"
    },
    "model": {
     "const": "p-privacy",
     "type": "string"
    },
    "target": {
     "oneOf": [
      {
       "enum": [
        "source",
        "uniform"
       ],
       "type": "string"
      },
      {
       "$ref": "#/$defs/Normal"
      },
      {
       "$ref": "#/$defs/Zipf"
      },
      {
       "$ref": "#/$defs/File"
      },
      {
       "$ref": "#/$defs/Given"
      },
      {
       "$ref": "#/$defs/Nearest"
      }
     ]
    },
    "per": {
     "description": "rows with which `source` is computed: each stratum, or the table",
     "enum": [
      "stratum",
      "table"
     ],
     "type": "string"
    },
    "tolerance": {
     "$ref": "#/$defs/ExactNumber",
     "x-at-least": 0,
     "x-below": 1,
     "description": "largest imbalance, relative to a group's size"
    }
   },
   "required": [
    "model",
    "target",
    "per",
    "tolerance",
    "quasi-identifiers"
   ]
  },
  "Parameters": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "mean": {
     "$ref": "#/$defs/ExactNumber"
    },
    "variance": {
     "$ref": "#/$defs/ExactNumber",
     "x-above": 0
    }
   },
   "required": [
    "mean",
    "variance"
   ]
  },
  "PartsOfTable": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "rows": {
     "description": "the largest number of rows of a part",
     "exclusiveMinimum": 0,
     "type": "integer"
    },
    "by": {
     "type": "string",
     "description": "the quasi-identifier that cuts strata with more rows"
    },
    "at": {
     "description": "the starts of the pieces after the first, the smallest first",
     "items": {
      "type": "string"
     },
     "type": "array"
    }
   },
   "required": [
    "rows",
    "at"
   ]
  },
  "Prefixes": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "prefixes": {
     "items": {
      "exclusiveMinimum": 0,
      "type": "integer"
     },
     "minItems": 1,
     "type": "array"
    }
   },
   "required": [
    "prefixes"
   ]
  },
  "PublishedPart": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "name": {
     "pattern": "^[0-9]{4,9}$",
     "type": "string"
    },
    "rows": {
     "minimum": 0,
     "type": "integer"
    },
    "groups": {
     "minimum": 0,
     "type": "integer"
    },
    "first-group": {
     "minimum": 0,
     "type": "integer"
    },
    "first-target": {
     "description": "the number that is added to the numbers of targets if all parts are one table",
     "minimum": 0,
     "type": "integer",
     "x-since-format": 7,
     "not": {
      "const": 0
     }
    },
    "where": {
     "items": {
      "items": {
       "$ref": "#/$defs/Share"
      },
      "type": "array"
     },
     "type": "array"
    },
    "digest": {
     "pattern": "^[0-9a-f]{64}$",
     "type": "string"
    }
   },
   "required": [
    "name",
    "rows",
    "groups",
    "first-group",
    "where",
    "digest"
   ]
  },
  "PublishedWords": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "publisher": {
     "maxLength": 300,
     "minLength": 1,
     "pattern": "^[^\\x00-\\x1f\\x7f]+$",
     "type": "string",
     "description": "the name of its publisher"
    },
    "contact": {
     "maxLength": 300,
     "minLength": 1,
     "pattern": "^[^\\x00-\\x1f\\x7f]+$",
     "type": "string",
     "description": "a name, an e-mail address, or an address on the web"
    },
    "licence": {
     "maxLength": 300,
     "minLength": 1,
     "pattern": "^[^\\x00-\\x1f\\x7f]+$",
     "type": "string",
     "description": "its short name (CC-BY-4.0), or its address on the web"
    },
    "description": {
     "maxLength": 4000,
     "minLength": 1,
     "pattern": "^[^\\x00-\\x09\\x0b-\\x1f\\x7f]+$",
     "type": "string",
     "description": "paragraphs, with an empty line between"
    },
    "columns": {
     "additionalProperties": {
      "maxLength": 300,
      "minLength": 1,
      "pattern": "^[^\\x00-\\x1f\\x7f]+$",
      "type": "string"
     },
     "type": "object"
    },
    "labels": {
     "additionalProperties": {
      "$ref": "#/$defs/CodeLabels"
     },
     "description": "the meaning of codes of columns",
     "type": "object",
     "x-since-format": 6,
     "not": {
      "const": {}
     }
    },
    "key": {
     "pattern": "^[0-9a-f]{32}$",
     "type": "string",
     "description": "the fingerprint of the key that the line's versions were signed with",
     "x-since-format": 6
    }
   },
   "required": [
    "columns"
   ]
  },
  "RangeAim": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "kind": {
     "const": "range",
     "type": "string"
    },
    "over": {
     "description": "quasi-identifier that queries restrict to a range",
     "type": "string"
    },
    "spans": {
     "description": "widths of the ranges; days for dates",
     "items": {
      "exclusiveMinimum": 0,
      "type": "integer"
     },
     "minItems": 1,
     "type": "array"
    }
   },
   "required": [
    "kind",
    "over",
    "spans"
   ]
  },
  "RareFold": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "below": {
     "description": "the number of rows that a value needs, to be kept",
     "minimum": 2,
     "type": "integer"
    },
    "into": {
     "maxLength": 128,
     "minLength": 1,
     "pattern": "^[^\\x00-\\x1f\\x7f]+$",
     "type": "string"
    }
   },
   "required": [
    "below",
    "into"
   ]
  },
  "RelatedCounts": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "read": {
     "minimum": 0,
     "type": "integer"
    },
    "dropped-by-filter": {
     "minimum": 0,
     "type": "integer"
    },
    "dropped-for-nulls": {
     "minimum": 0,
     "type": "integer"
    },
    "dropped-as-orphans": {
     "description": "rows of no person in the table of people",
     "minimum": 0,
     "type": "integer"
    },
    "dropped-with-people": {
     "description": "rows of people who were left out",
     "minimum": 0,
     "type": "integer"
    },
    "published": {
     "minimum": 0,
     "type": "integer"
    }
   },
   "required": [
    "read",
    "dropped-by-filter",
    "dropped-for-nulls",
    "dropped-as-orphans",
    "dropped-with-people",
    "published"
   ]
  },
  "Rounding": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "to": {
     "type": "string"
    },
    "ties": {
     "description": "the multiple that is chosen if two are equally near: the even one, the larger or the smaller",
     "enum": [
      "even",
      "up",
      "down"
     ],
     "type": "string"
    }
   },
   "required": [
    "to",
    "ties"
   ]
  },
  "RowCounts": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "read": {
     "type": "integer"
    },
    "dropped_by_filter": {
     "type": "integer"
    },
    "dropped_for_nulls": {
     "type": "integer"
    },
    "dropped_as_repeats": {
     "type": "integer"
    },
    "suppressed": {
     "type": "integer"
    },
    "published": {
     "type": "integer"
    },
    "fakes": {
     "type": "integer"
    },
    "vacant": {
     "description": "values of people who left, still shown",
     "type": "integer",
     "x-since-format": 2,
     "not": {
      "const": 0
     }
    },
    "not_represented_versions": {
     "description": "rows of people whom earlier versions keep out of this one",
     "type": "integer",
     "x-since-format": 2,
     "not": {
      "const": 0
     }
    }
   },
   "required": [
    "read",
    "dropped_by_filter",
    "dropped_for_nulls",
    "dropped_as_repeats",
    "suppressed",
    "published",
    "fakes"
   ]
  },
  "Share": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "column": {
     "type": "string"
    },
    "values": {
     "items": {
      "type": "string"
     },
     "type": "array"
    },
    "from": {
     "type": "string"
    },
    "below": {
     "type": "string"
    },
    "null": {
     "type": "boolean"
    }
   },
   "required": [
    "column",
    "null"
   ]
  },
  "TailShare": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "share": {
     "type": "string"
    }
   },
   "required": [
    "share"
   ]
  },
  "Zipf": {
   "additionalProperties": false,
   "type": "object",
   "properties": {
    "zipf": {
     "$ref": "#/$defs/ExactNumber",
     "x-at-least": 0
    }
   },
   "required": [
    "zipf"
   ]
  }
 }
}
